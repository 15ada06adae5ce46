// What a run that was asked nothing has found, in one sentence, as the text report has it (crates/report/src/answer.rs): the
// figures of its only step, or of the one of several with the most IOPS. Pure.

import { bandwidth, inLocale, latency, rate, visible } from "../format";
import { strings } from "../strings";
import type { Report } from "./api";

type Step = Report["steps"][number];
type Asked = Pick<Report, "steps" | "validity">;

const words = strings.run.headline;

/** What a step's operations were and came to. */
function ofStep({ streams, total: { all } }: Step): string {
  // What keeps CPUs busy is no I/O, and is in no sum.
  const counted = streams.filter(({ adds_up }) => adds_up);
  const workloads = [...new Set(counted.map(({ workload }) => inLocale(visible(workload))))];
  const [only, ...more] = workloads;
  if (only === undefined) return words.ofNone;
  const what = more.length > 0 ? words.workloads(workloads.length) : only;
  if (all.operations === 0) return words.uncompleted(what);
  const { response } = all;
  const p99 = response.percentiles.find(({ percent }) => percent === 99)?.ns ?? null;
  const times =
    response.count > 0
      ? [
          words.mean(latency(response.mean_ns)),
          // A sample too small for a p99 still has a largest value.
          p99 === null ? words.max(latency(response.max_ns)) : words.p99(latency(p99)),
        ]
      : [];
  const errors = all.errors > 0 ? [words.errors(all.errors)] : [];
  return words.step(what, [words.iops(rate(all.iops)), bandwidth(all.bytes_per_s), ...times, ...errors]);
}

/** Whether what was found can be trusted, in a few words. */
function soundness(validity: Report["validity"]): string {
  const of = (severity: string) => validity.filter((finding) => finding.severity === severity).length;
  if (of("invalid") > 0) return words.invalid;
  return of("warn") > 0 ? words.doubtful(of("warn")) : words.sound;
}

export function headline({ steps, validity }: Asked): string {
  const [first] = steps;
  if (!first) return words.nothing;
  // Of equals the last one, as in the text report.
  const best = steps.reduce((most, step) => (step.total.all.iops >= most.total.all.iops ? step : most), first);
  const found = ofStep(best);
  const whole = steps.length > 1 ? words.several(steps.length, visible(best.name), found) : found;
  return `${whole} ${soundness(validity)}`;
}
