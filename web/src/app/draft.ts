// What a form holds that no text can say yet: queue depths such as `1..x`, a rate that is none, a number out of its range.
// The text keeps the last value it could have; the field keeps what was typed, also while the text is edited. Pure.

import { options } from "./limits";
import { depthsOf, emptyStream, emptyTarget, isRates, isWhole, type Form, type Stream, type Target } from "./job";
import { same } from "./toml";

/** The most that number fields take, as the options have it. */
export const workersMax = options["stream.workers"].max;
export const treeMost = {
  depth: options["target.tree_depth"].max,
  width: options["target.tree_width"].max,
  files: options["target.files"].max,
} as const;
const treeFields = Object.keys(treeMost) as (keyof typeof treeMost)[];

/** A form as it is filled in: queue depths are lists there, and what was typed here. */
export interface Filled {
  form: Form;
  /** Of each stream. */
  depths: string[];
}

export const writtenDepths = ({ streams }: Form): string[] => streams.map(({ depths }) => depths.join(", "));

const named = <T extends { name: string }>(all: T[], name: string) => all.find((one) => one.name === name);

/** The form that a text can say: where a field is wrong in itself, what the text has had. */
export function settled({ form, depths }: Filled, kept: Form): Form {
  const streams = form.streams.map((stream, at): Stream => {
    const had = named(kept.streams, stream.name) ?? emptyStream;
    return {
      ...stream,
      depths: depthsOf(depths[at] ?? "") ?? had.depths,
      rate: isRates(stream.rate) ? stream.rate : had.rate,
      workers: isWhole(stream.workers, workersMax) ? stream.workers : had.workers,
    };
  });
  const targets = form.targets.map((target): Target => {
    if (target.kind !== "tree") return target;
    const had = named(kept.targets, target.name) ?? emptyTarget;
    const whole = treeFields.map((field) => [field, (isWhole(target[field], treeMost[field]) ? target : had)[field]]);
    return { ...target, ...(Object.fromEntries(whole) as Pick<Target, keyof typeof treeMost>) };
  });
  return { ...form, targets, streams };
}

/**
 * What the form holds when its text was edited from one form to another: what the text says, but for fields that it could
 * not say and whose value in it is as it was.
 */
export function carried({ form, depths }: Filled, before: Form, after: Form): Filled {
  const written = [...writtenDepths(after)];
  const streams = after.streams.map((stream, at): Stream => {
    const [mine, had] = [named(form.streams, stream.name), named(before.streams, stream.name)];
    if (!mine || !had) return stream;
    const typed = depths[form.streams.indexOf(mine)] ?? "";
    const stays = depthsOf(typed) === null ? same(had.depths, stream.depths) : same(depthsOf(typed), stream.depths);
    if (stays) written[at] = typed;
    return {
      ...stream,
      rate: !isRates(mine.rate) && had.rate === stream.rate ? mine.rate : stream.rate,
      workers: !isWhole(mine.workers, workersMax) && had.workers === stream.workers ? mine.workers : stream.workers,
    };
  });
  const targets = after.targets.map((target): Target => {
    const [mine, had] = [named(form.targets, target.name), named(before.targets, target.name)];
    if (!mine || !had || [mine, had, target].some(({ kind }) => kind !== "tree")) return target;
    const isDraft = (field: keyof typeof treeMost) =>
      !isWhole(mine[field], treeMost[field]) && had[field] === target[field];
    const whole = treeFields.map((field) => [field, (isDraft(field) ? mine : target)[field]]);
    return { ...target, ...(Object.fromEntries(whole) as Pick<Target, keyof typeof treeMost>) };
  });
  return { form: { ...after, targets, streams }, depths: written };
}
