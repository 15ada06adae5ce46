// What names sections of a job elsewhere in its text, and what becomes of it when they are gone. Pure.

import { edited, isTable, parse, replaced } from "./toml";

/** A section that is no longer there. */
export interface Gone {
  kind: string;
  name: string;
}

/**
 * The text without what names these: streams of stages, stages that had no others, targets of streams, and what was swept of
 * them.
 * Of a stream that had no other target an empty list stays, which is a fault: without one it would go to all that are left.
 */
export function released(text: string, gone: Gone[], before = text): string {
  if (gone.length === 0) return text;
  const targets = gone.filter(({ kind }) => kind === "target").map(({ name }) => name);
  const streams = gone.filter(({ kind }) => kind === "stream").map(({ name }) => name);
  const prefixes = gone.map(({ kind, name }) => `${kind}.${name}.`);
  let changed = text;
  const [{ stream: then }, { stream: now }] = [parse(before), parse(text)];
  for (const [name, stream] of isTable(then) ? Object.entries(then) : []) {
    if (!isTable(stream) || !isTable(now) || !(name in now)) continue;
    const aims = typeof stream.targets === "string" ? [stream.targets] : stream.targets;
    if (!Array.isArray(aims) || !aims.some((aim) => targets.includes(String(aim)))) continue;
    const left = aims.filter((aim) => !targets.includes(String(aim)));
    changed = replaced(changed, ["stream", name, "targets"], left);
  }
  const stagesOf = () => {
    const { stage } = parse(changed);
    return isTable(stage) ? Object.entries(stage) : [];
  };
  for (const [name, stage] of stagesOf()) {
    if (!isTable(stage)) continue;
    const aims = typeof stage.streams === "string" ? [stage.streams] : stage.streams;
    const left = Array.isArray(aims) ? aims.filter((one) => !streams.includes(String(one))) : null;
    if (left && Array.isArray(aims) && left.length < aims.length) {
      // A stage of none is a fault, and one that names none is of all: it had nothing to do but what is gone.
      if (left.length === 0 && stagesOf().length > 1) {
        changed = edited(changed, { stage: { [name]: {} } }, {});
        continue;
      }
      changed = replaced(changed, ["stage", name, "streams"], left.length > 0 ? left : undefined);
    }
    if (!isTable(stage.sweep)) continue;
    const swept = Object.entries(stage.sweep);
    const rest = swept.filter(([path]) => !prefixes.some((prefix) => path.startsWith(prefix)));
    if (rest.length < swept.length)
      changed = replaced(changed, ["stage", name, "sweep"], rest.length > 0 ? Object.fromEntries(rest) : undefined);
  }
  return changed;
}

/** The text in which a stream that came is in every stage that names the one it began as. */
export function joined(text: string, name: string, from: string): string {
  const { stage } = parse(text);
  let changed = text;
  for (const [of, section] of isTable(stage) ? Object.entries(stage) : []) {
    const streams = isTable(section) ? section.streams : undefined;
    const names = typeof streams === "string" ? [streams] : streams;
    if (!Array.isArray(names) || !names.includes(from)) continue;
    changed = replaced(changed, ["stage", of, "streams"], [...names, name]);
  }
  return changed;
}
