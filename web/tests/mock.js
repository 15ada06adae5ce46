// A server that answers like `fathom serve` from records that the tests of crates/report have made, and plays a run event by
// event as a test says. With the same policy against foreign scripts as the real one.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { pages } from "./browser.js";

const web = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const recorded = JSON.parse(readFileSync(join(web, "src/app/recorded.fixture.json"), "utf8"));
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const kinds = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

/** Options whose value is none, as the server finds them. */
const wrongValues = [
  [/^read = "150%?"$/, "read: 150% is above 100%"],
  [/^block_size = "0"$/, "block_size: 0 is below 1"],
  [/^access = "foo"$/, 'access: "foo" is neither random nor sequential'],
  [/^size = "-1"$/, 'size: "-1" is no size'],
  [/^(?:time|ramp) = "-5s"$/, 'time: "-5s" is no time'],
  [/^seed = "x"$/, 'seed: "x" is not a whole number'],
  [/^queue_depth = (?:0|"x")$/, "queue_depth: it is not a whole number from 1 to 65536"],
  [/^streams = \["gone"\]$/, "there is no stream gone"],
  [/^workers = "x"$/, 'workers: "x" is not a whole number'],
  [/^(sweep = \{ )"stream\.queue_depth" = \[0/, "sweep over stream.queue_depth with 0: 0 is below 1"],
];

const noPlan = {
  may_run: false,
  expected_seconds: null,
  expected_seconds_at_most: null,
  steps: [],
  measurements: null,
  targets: [],
  refusals: [],
  questions: [],
  notes: [],
  diagnostics: [],
};

/** What the plan of a job is here: judged by words in its text, so that a test can ask for each case. */
function planOf({ job, consent, search }) {
  if (job.text.includes("sise")) {
    const line = job.text.split("\n").findIndex((one) => one.includes("sise")) + 1;
    const fault = {
      code: "job.unknown-option",
      severity: "error",
      line,
      column: 1,
      message: 'unknown option "sise"',
      help: "did you mean size?",
    };
    return { ...noPlan, diagnostics: [fault] };
  }
  const diagnostics = job.text.split("\n").flatMap((line, at) =>
    wrongValues.flatMap(([pattern, message]) => {
      const found = pattern.exec(line);
      const column = (found?.[1]?.length ?? 0) + 2;
      return found ? [{ code: "job.bad-value", severity: "error", line: at + 1, column, message, help: "" }] : [];
    }),
  );
  if (diagnostics.length > 0) return { ...noPlan, diagnostics };
  const path = /path = "(.*)"/.exec(job.text)?.[1] ?? "sim:";
  const question = {
    code: "device.signature",
    path,
    device: "Example NVMe",
    reason: "an ext4 filesystem is on it",
    answers: ["/dev/precious", "S1234567", "4567"],
  };
  const isPrecious = path === "/dev/precious" && !consent.answers.some(({ typed }) => question.answers.includes(typed));
  return {
    ...noPlan,
    may_run: !isPrecious,
    expected_seconds: 32,
    expected_seconds_at_most: search?.kind === "curve" ? 85 : null,
    steps: [{ name: "main" }],
    measurements: search?.kind === "curve" ? { about: 27, at_most: 72 } : null,
    targets: [
      {
        path,
        reads: true,
        writes: isPrecious,
        trims: false,
        deletes: false,
        creates: !isPrecious,
        lays_out_bytes: 1 << 30,
        removes: true,
      },
    ],
    questions: isPrecious ? [question] : [],
  };
}

/** A ready-made job. */
const presetText =
  '[target.a]\npath = "/tmp/a"\nsize = "1GiB"\n[workload.b]\nread = "70%"\naccess = "random"\n' +
  '[stream.b]\nqueue_depth = 30\n[stage.main]\ntime = "10min"\n';

/** What a file of access specifications alone is in native words. */
const libraryText =
  '[workload."4 KiB mix"]\nalign = "512B"\n' +
  'mix = [{ share = "60%", block_size = "4KiB" }, { share = "40%", block_size = "8KiB" }]\n' +
  '[workload.Database]\nread = "67%"\n';

/** What is wrong with a job. */
function checked(job) {
  const { diagnostics } = planOf({ job, consent: { answers: [] } });
  return { dialect: "native", is_sound: diagnostics.length === 0, diagnostics };
}

/** What becomes of files with faults: null of any other. */
function converted({ name, text, maps = [] }) {
  const fault = (severity, line, message, help) => ({ code: "mock.fault", severity, line, column: 1, message, help });
  if (name.endsWith(".icf") && maps.length === 0 && text.includes("C:"))
    return {
      text: "[run]\n",
      diagnostics: [
        { ...fault("error", 1, "the target C: is not on this machine", "say --map 'C:=/dev/…'"), code: "icf.unmapped" },
      ],
    };
  if (name === "library.icf")
    return {
      text: libraryText,
      diagnostics: [{ ...fault("error", null, "no worker runs one", ""), code: "icf.specifications-only" }],
    };
  const at = text.split("\n").findIndex((line) => line.includes("bogus")) + 1;
  return at === 0
    ? null
    : { text: "[run]\n", diagnostics: [fault("error", at, "there is no option bogus", "leave it out")] };
}

export class Mock {
  #server = createServer((request, response) => void this.#answer(request, response));
  #watchers = new Set();
  /** After which events streams were asked for, answered or not, in the order in which they were. */
  streams = [];
  /** Tells whoever waits that a stream was opened or ended. */
  #changed = () => undefined;
  /** Titles and tags that runs were given, and those that were deleted. */
  #labels = new Map();
  #gone = new Set();
  /** How many events of the run have happened. */
  #played = 0;
  /** What the next request of the API is answered with instead. */
  broken = null;
  isEmpty = false;
  /** Whether the list says that the run that is played has ended. */
  isOver = false;
  /** Facts of the environment that are others in runs that are compared. */
  differences = [];
  /** What a comparison of sides answers; that of the records where it is undefined. */
  verdict = undefined;
  /** A run without an end that goes on. */
  unended = null;
  /** Texts of the jobs of all runs, where they are not those of the records. */
  sources = null;
  /** Titles of runs, where they are not those of the records. */
  titles = {};
  /** Rows of the list of runs beside its own, as far as they are told. */
  others = [];
  /** What the session may do. */
  role = "admin";
  /** What happens in the run that is played. */
  events = recorded;
  /** Whether requests of the API wait for an answer that does not come. */
  isSilent = false;
  /** What the run that goes on answers so far. */
  answer = null;
  /** What was sent to be done: method, path, body. */
  asked = [];

  async listen() {
    await new Promise((done) => this.#server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${this.#server.address().port}/`;
  }

  async close() {
    this.drop();
    this.#server.close();
  }

  /** Waits until so many streams of events are held open. */
  async watchedBy(count) {
    while (this.#watchers.size !== count) await new Promise((done) => (this.#changed = done));
  }

  /** Lets events happen up to the `count`th, and what is told of streams together where that is next. */
  play(count) {
    let left = count;
    const next = this.events.findIndex(({ event }) => event !== "figures" && (left -= 1) < 0);
    this.#played = next < 0 ? this.events.length : next;
    for (const watcher of this.#watchers) this.#tell(watcher);
  }

  /** The answer of a stored run. */
  answerOf(run) {
    return JSON.parse(readFileSync(join(pages, `${run}.answer.json`), "utf8"));
  }

  /** Says that a step has ended, between the recorded events. */
  finishStep() {
    const event = { event: "step_finished", step: 0, stop: "complete", elapsed_s: 1 };
    this.events = [...this.events.slice(0, this.#played), event, ...this.events.slice(this.#played)];
    this.#played += 1;
    for (const watcher of this.#watchers) this.#tell(watcher);
  }

  /** Ends all connections, as a server that was killed. */
  drop() {
    for (const { response } of this.#watchers) response.destroy();
    this.#watchers.clear();
    this.#server.closeAllConnections();
  }

  /** Has the streams that are open bring nothing any more, as where a network forgets them: neither side hears of it. */
  forget() {
    this.#watchers.clear();
  }

  /** Waits until streams of events were asked for so often, answered or not. */
  async streamedTo(count) {
    while (this.streams.length < count) await new Promise((done) => (this.#changed = done));
  }

  #tell(watcher) {
    for (; watcher.last < this.#played; watcher.last += 1) {
      const event = this.events[watcher.last];
      watcher.response.write(`id: ${watcher.last + 1}\nevent: ${event.event}\ndata: ${JSON.stringify(event)}\n\n`);
    }
  }

  async #answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, "http://mock");
    response.setHeader("content-security-policy", policy);
    if (!pathname.startsWith("/api/v1/")) return this.#page(pathname, response);
    const from = Number(request.headers["last-event-id"] ?? searchParams.get("last_event_id") ?? 0);
    if (pathname.endsWith("/events")) {
      this.streams.push(from);
      this.#changed();
    }
    if (this.isSilent) return;
    let body = "";
    for await (const part of request) body += part;
    const isFile = request.headers["content-type"] === "application/vnd.fathom.run";
    const sent = body === "" ? null : isFile ? body : JSON.parse(body);
    const json = (value, status = 200) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    };
    // Pages ask these by themselves, whenever nobody types or from time to time.
    if (pathname === "/api/v1/jobs/check") return json(checked(sent));
    if (pathname === "/api/v1/status") {
      const going = this.#rows().filter(({ state }) => ["running", "elsewhere"].includes(state));
      const [run = null, ...elsewhere] = this.isEmpty ? [] : going.map(({ run }) => run);
      return json({ run, elsewhere });
    }
    if (pathname === "/api/v1/session") return json({ role: this.role, version: "0" });
    if (request.method !== "GET")
      this.asked.push({ ...(request.method !== "POST" && { method: request.method }), path: pathname, body: sent });
    if (this.broken) {
      const { status, message, help = "" } = this.broken;
      this.broken = null;
      return json({ error: { code: "mock.broken", message, help } }, status);
    }
    const [what, run, part] = pathname.slice("/api/v1/".length).split("/").map(decodeURIComponent);
    const stored = (ending) => JSON.parse(readFileSync(join(pages, `${run}.${ending}`), "utf8"));
    if (what === "presets")
      return json([
        {
          name: "oltp",
          title: "OLTP",
          text: presetText,
        },
      ]);
    if (what === "facts")
      return json({
        host: "lab1",
        cpu: { model: "Example", usable: [0] },
        memory: 1,
        targets: [
          {
            path: "/dev/precious",
            device: {
              name: "precious",
              model: "Example NVMe",
              serial: "S1234567",
              size: 1 << 30,
              read_only: false,
              in_use: [],
              content: { signed: [{ kind: "ext4" }] },
            },
          },
          {
            path: "/dev/system",
            device: {
              name: "system",
              model: "Example SSD",
              serial: "S7654321",
              size: 2 ** 34,
              read_only: false,
              in_use: [{ mounted: { device: "system1", mount_point: "/boot" } }, { system: { mount_point: "/" } }],
              content: "unknown",
            },
          },
        ],
      });
    if (what === "jobs" && run === "plan") return json(planOf(sent));
    if (what === "jobs" && run === "convert")
      return json(
        converted(sent) ?? {
          text: '[target.disk]\nkind = "sim"\nsize = "1GiB"\n[workload.load]\n[stream.load]\n[stage.main]\ntime = "5s"\n',
          diagnostics: [],
        },
      );
    if (what === "runs" && request.method === "POST" && !run) return json({ run: "live" }, 202);
    if (what === "runs" && !run) return json(this.isEmpty ? [] : this.#rows());
    if (what === "runs" && run === "import") return json({ run: "01TAKENIN" }, 201);
    if (what === "runs" && request.method === "PATCH") {
      this.#labels.set(run, { ...this.#labels.get(run), ...sent });
      return json(this.#rows().find((row) => row.run === run));
    }
    if (what === "runs" && request.method === "DELETE") {
      this.#gone.add(run);
      return response.writeHead(204).end();
    }
    if (what === "runs" && part === "events") {
      // A run that is over has nothing to follow.
      if (run !== "live" && run !== this.unended) return response.writeHead(204).end();
      return this.#stream(response, from);
    }
    if (what === "runs" && request.method === "POST") return json(null, 202);
    const sides = what === "compare" ? searchParams.get("sides").split(",").map((side) => side.split("~")) : [];
    if (sides.flat().some((run) => !existsSync(join(pages, `${run}.json`))))
      return json({ error: { code: "run.unknown", message: "there is no run", help: "" } }, 404);
    if (what === "compare" && this.verdict !== undefined) return json(this.verdict);
    if (what === "compare") return json(JSON.parse(readFileSync(join(pages, "comparison.answer.json"), "utf8")));
    const isThere = run === "live" || run === this.unended || existsSync(join(pages, `${run}.json`));
    const unknown = { code: "run.unknown", message: `there is no run ${run}`, help: "GET /api/v1/runs lists all" };
    if (what === "runs" && !isThere) return json({ error: unknown }, 404);
    if (what === "runs" && part === "answer") return json(run === "live" ? this.answer : stored("answer.json"));
    if (what === "runs" && part === "charts") {
      const charts = stored("charts.json");
      // A sweep of steps that have these names.
      if (this.labels && charts.sweep) {
        const first = (values) => (Array.isArray(values) ? values.slice(0, this.labels.length) : values);
        const lines = charts.sweep.lines.map((line) =>
          Object.fromEntries(Object.entries(line).map(([name, values]) => [name, first(values)])),
        );
        const positions = this.labels.map((_, at) => at);
        charts.sweep = { ...charts.sweep, labels: this.labels, positions, axis: "steps", lines };
      }
      return json(charts);
    }
    if (what === "environments") return json(this.differences);
    const own = { ...(this.titles[run] && { title: this.titles[run] }), ...(this.sources && { sources: this.sources }) };
    if (what === "runs") return json({ ...stored("json"), ...own });
    return json({ error: { code: "mock.unknown", message: "there is no such thing", help: "" } }, 404);
  }

  #rows() {
    const row = (run, title, state) => ({
      run,
      title: this.#labels.get(run)?.title || title,
      tags: this.#labels.get(run)?.tags ?? [],
      state,
      unreadable: null,
      started_ms: 1_795_165_164_000,
      duration_s: 120,
      steps: 1,
    });
    const names = ["steady", "mixed", "sweep", "hostile", "curve", "pts-iops"];
    const there = names.filter((name) => !this.#gone.has(name));
    return [
      row("live", "two streams", this.isOver ? "complete" : "running"),
      ...(this.unended ? [row(this.unended, "without an end", "running")] : []),
      ...this.others.map((other) => ({ ...row(other.run, other.title, "complete"), ...other })),
      ...there.map((name) => row(name, JSON.parse(readFileSync(join(pages, `${name}.json`), "utf8")).title, "complete")),
    ];
  }

  #stream(response, last) {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write("retry: 50\n\n");
    const watcher = { response, last };
    this.#watchers.add(watcher);
    this.#changed();
    response.on("close", () => {
      this.#watchers.delete(watcher);
      this.#changed();
    });
    this.#tell(watcher);
  }

  #page(pathname, response) {
    const path = pathname === "/" ? "index.html" : pathname.slice(1);
    try {
      const content = readFileSync(join(web, "dist", path));
      response.writeHead(200, { "content-type": kinds[extname(path)] ?? "application/octet-stream" }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  }
}
