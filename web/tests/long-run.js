// An hour of 64 streams as the server would tell it: what tests and the measuring of the pages play.

export const streams = 64;
export const seconds = 3600;
/** Seconds of an interval: as many cells as the page keeps of an hour. */
export const every = 4;

const interval = (stream, at) => {
  const iops = 900 + ((stream * 131 + at * 37) % 200);
  const ns = 1e6 + ((stream * 17 + at * 29) % 100) * 1e4;
  const all = {
    kind: "all",
    operations: iops * every,
    errors: 0,
    iops,
    bytes_per_s: iops * 4096,
    mean_ns: ns,
    p50_ns: ns,
    p99_ns: 3 * ns,
    p999_ns: 5 * ns,
    max_ns: 9 * ns,
  };
  const spread = Array.from({ length: 20 }, (_, row) => [72 + row, 1 + ((row * at) % 50)]);
  return {
    event: "interval",
    step: 0,
    stream,
    start_s: at,
    end_s: at + every,
    phase: "measure",
    late: false,
    queue_depth_held: 4,
    all,
    spread,
  };
};
const host = (at) => ({
  event: "host",
  step: 0,
  start_s: at,
  end_s: at + every,
  processors: 0.4,
  devices: [{ name: "nvme0n1", busy: 0.9 }],
});

const span = ({ start_s, end_s, queue_depth_held, all }) => ({ start_s, end_s, queue_depth_held, all });
/** What they do together, as told after the interval that begins at `at`. */
const figures = (at) => {
  const one = span(interval(1, at));
  const many = { ...one.all, iops: streams * one.all.iops, operations: streams * one.all.operations };
  const all = { ...one, queue_depth_held: 4 * streams, all: many };
  const together = { last: all, since: { ...all, start_s: 0 } };
  const every = Array.from({ length: streams }, (_, stream) => ({ ...span(interval(stream, at)), start_s: 0 }));
  const groups = [{ streams: [...every.keys()], ...together }];
  return { event: "figures", step: 0, reached_s: all.end_s, ...together, streams: every, groups };
};

/** All that happens from `from` to `to`. */
export function told(from, to) {
  const events = [];
  for (let at = from; at < to; at += every) {
    for (let stream = 0; stream < streams; stream += 1) events.push(interval(stream, at));
    events.push(figures(at), host(at));
  }
  return events;
}

const info = (at) => ({
  name: `stream ${at}`,
  workload: "random read 4 KiB",
  targets: ["/dev/nvme0n1"],
  target_count: 1,
  workers: 1,
  queue_depth: 4,
  rate_per_s: null,
  ramp_s: 0,
  time_s: 4 * seconds,
});
export const begun = [
  {
    event: "run_started",
    run: "live",
    title: "an hour",
    description: null,
    started_ms: Date.now() - seconds * 1000,
    expected_seconds: 4 * seconds,
  },
  {
    event: "step_started",
    step: 0,
    name: "main",
    parameters: [],
    started_ms: 0,
    streams: Array.from({ length: streams }, (_, at) => info(at)),
  },
];

/** All of it. */
export const anHour = () => [...begun, ...told(0, seconds)];
