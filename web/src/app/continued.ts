// Steps between which only the load was changed, put together as one for charts: the time line goes on, and what was before
// the change stays in sight. Figures and tables are of the newest step alone, and none of this module's business.

import type { TimeMark } from "../charts/types";
import { both, cellsMax, merged, summed, type Share, type StepView } from "./reducer";

/** The newest step with those before it that it goes on from, oldest first. */
export function chainOf(steps: StepView[]): StepView[] {
  const namesOf = (step: StepView | undefined) => step?.streams.map(({ name }) => name).join("\n");
  let from = steps.length - 1;
  while (from > 0 && steps[from - 1]?.stop === "changed" && namesOf(steps[from - 1]) === namesOf(steps[from])) from -= 1;
  return steps.slice(Math.max(from, 0));
}

/** What a step is other in than the one before it, as `stream.s.rate=1000/s`; its name where that is nothing. */
function changeOf(before: StepView, step: StepView): string {
  const had = new Map(before.parameters);
  const others = step.parameters.filter(([name, value]) => had.get(name) !== value);
  return others.map(([name, value]) => `${name}=${value}`).join(", ") || step.name;
}

/** Moments at which the load was changed, since the run's start. */
export const changesIn = (chain: StepView[]): TimeMark[] =>
  chain.slice(1).map((step, at) => ({ at_s: step.start_s, label: changeOf(chain[at]!, step) }));

/**
 * The chain as one step, on the coarsest of its grids. A step begins with a cell of its own: what ended within a cell and
 * what began within it would be one cell of both loads.
 */
export function joined(chain: StepView[]): StepView | undefined {
  const [first] = chain;
  const last = chain.at(-1);
  if (!first || !last || chain.length === 1) return last;
  let cell_s = Math.max(...chain.map((step) => step.cell_s));
  // A step of which no interval is known yet has no grid, and nothing to be put on it.
  if (!(cell_s > 0)) return last;
  const end_s = last.start_s - first.start_s + last.reached_s;
  // One cell more for each step, by whose part of a cell those behind it may be moved.
  while (end_s / cell_s + chain.length > cellsMax) cell_s *= 2;

  const streams = last.streams.map(() => [] as StepView["cells"][number]);
  const all: StepView["all"] = [];
  const spreads: StepView["spreads"] = [];
  const busy = new Map<string, (Share | undefined)[]>();
  let next = 0;
  let measuredFrom_s: number | null = null;
  let reached_s = 0;
  let together = 1;
  for (const step of chain) {
    const begin = Math.max(Math.round((step.start_s - first.start_s) / cell_s), next);
    const at_s = begin * cell_s;
    const scale = step.cell_s / cell_s;
    /** Where a cell of the step's own goes: its middle is never on an edge of a whole number of cells. */
    const placed = <T>(row: (T | undefined)[], to: (T | undefined)[], of: (a: T | undefined, b: T) => T | undefined): void =>
      row.forEach((value, own) => {
        const at = begin + Math.floor((own + 0.5) * scale);
        if (value !== undefined) to[at] = of(to[at], value);
      });
    step.cells.forEach((row, stream) => streams[stream] && placed(row, streams[stream], merged));
    placed(step.all, all, merged);
    placed(step.spreads, spreads, (a, b) => summed([a, b]));
    for (const [name, row] of step.busy) {
      const to = busy.get(name) ?? [];
      busy.set(name, to);
      placed(row, to, both);
    }
    if (step.measuredFrom_s !== null) measuredFrom_s ??= at_s + step.measuredFrom_s;
    reached_s = at_s + step.reached_s;
    next = Math.ceil(reached_s / cell_s - 1e-6);
    together = Math.max(together, Math.round(step.together * Math.max(1, 1 / (scale || 1))));
  }
  // Arrays with holes would be passed over by what maps them.
  const whole = <T>(row: (T | undefined)[]) => Array.from(row);
  return {
    ...last,
    index: first.index,
    start_s: first.start_s,
    cell_s,
    together,
    cells: streams.map(whole),
    all: whole(all),
    spreads: whole(spreads),
    busy: new Map([...busy].map(([name, row]) => [name, whole(row)])),
    measuredFrom_s,
    reached_s,
  };
}
