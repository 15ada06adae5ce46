// A run's events while its connection is healthy, quiet, lost with a word or without one: a browser's streams that a test
// plays, in time that a test makes pass.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { follow, type Told } from "./follow";

/** A stream of events as browsers have it, which answers as a test says. */
class Stream {
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  /** All that were asked for. */
  static all: Stream[] = [];
  static get last(): Stream {
    return Stream.all.at(-1)!;
  }

  readyState = 0;
  onopen = () => undefined;
  onerror = () => undefined;
  #listeners = new Map<string, (message: unknown) => void>();

  constructor(readonly url: string) {
    Stream.all.push(this);
  }

  addEventListener(kind: string, listener: (message: unknown) => void): void {
    this.#listeners.set(kind, listener);
  }

  close(): void {
    this.readyState = Stream.CLOSED;
  }

  answers(): void {
    this.readyState = Stream.OPEN;
    this.onopen();
  }

  breaks(): void {
    this.readyState = 0;
    this.onerror();
  }

  isOver(): void {
    this.readyState = Stream.CLOSED;
    this.onerror();
  }

  brings(id: number, kind = "interval"): void {
    this.#listeners.get(kind)?.({ lastEventId: String(id), data: `"${id}"` });
  }
}

let told: string[];
const tell = (one: Told) => {
  if (one.kind === "event") told.push(`event ${one.id}`);
  else told.push(one.kind === "up" ? (one.isUp ? "up" : "lost") : one.isStored ? "stored" : "over");
};
/** What was told since this was asked last. */
const news = () => told.splice(0);
const passes = (seconds: number) => vi.advanceTimersByTime(seconds * 1000);

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Stream);
  [Stream.all, told] = [[], []];
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a stream that brings something now and then stays", () => {
  follow("e", 0, tell);
  Stream.last.answers();
  for (let id = 1; id <= 100; id += 1) {
    passes(4);
    Stream.last.brings(id, id % 2 === 0 ? "preparing" : "host");
  }
  expect(Stream.all.map(({ url }) => url)).toEqual(["e"]);
  expect(news()).toEqual(["up", ...Array.from({ length: 100 }, (_, at) => `event ${at + 1}`)]);
});

test("of a run that is quiet nothing is told as long as its server answers", () => {
  const end = follow("e", 0, tell);
  Stream.last.answers();
  Stream.last.brings(7);
  // An hour of a test that leaves a drive alone.
  for (let turn = 0; turn < 360; turn += 1) {
    passes(5);
    // Slow, as a machine is that measures.
    passes(5);
    Stream.last.answers();
  }
  Stream.last.brings(8);
  expect(news()).toEqual(["up", "event 7", "event 8"]);
  expect(new Set(Stream.all.slice(1).map(({ url }) => url))).toEqual(new Set(["e?last_event_id=7"]));
  expect(Stream.all.filter(({ readyState }) => readyState !== Stream.CLOSED)).toEqual([Stream.last]);
  end();
  expect(vi.getTimerCount()).toBe(0);
  expect(Stream.last.readyState).toBe(Stream.CLOSED);
});

test("a tab that is held back or has slept suspects nothing for it", () => {
  follow("e", 0, tell);
  Stream.last.answers();
  for (let turn = 0; turn < 4; turn += 1) {
    passes(1);
    vi.setSystemTime(Date.now() + 3_600_000);
  }
  expect([Stream.all.length, news()]).toEqual([1, ["up"]]);
});

test("a stream that has died is replaced by one after its last event", () => {
  follow("e", 0, tell);
  Stream.last.answers();
  Stream.last.brings(3);
  passes(5);
  const [dead, alive] = Stream.all;
  expect([dead?.readyState, alive?.url]).toEqual([Stream.CLOSED, "e?last_event_id=3"]);
  alive?.answers();
  alive?.brings(4);
  alive?.brings(5);
  expect(news()).toEqual(["up", "event 3", "event 4", "event 5"]);
});

test("a server that does not answer is told to be lost, and asked again until it does", () => {
  follow("e", 2, tell);
  expect(Stream.last.url).toBe("e?last_event_id=2");
  Stream.last.answers();
  Stream.last.brings(6);
  expect(news()).toEqual(["up", "event 6"]);
  passes(14);
  expect(news()).toEqual([]);
  passes(1);
  expect(news()).toEqual(["lost"]);
  const before = Stream.all.length;
  passes(60);
  expect(Stream.all.length - before).toBe(6);
  expect(Stream.all.filter(({ readyState }) => readyState !== Stream.CLOSED)).toEqual([Stream.last]);
  expect(news()).toEqual([]);
  expect(Stream.last.url).toBe("e?last_event_id=6");
  Stream.last.answers();
  Stream.last.brings(7);
  expect(news()).toEqual(["up", "event 7"]);
  passes(4);
  Stream.last.brings(8, "run_finished");
  expect(news()).toEqual(["event 8", "over"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a server that was never there is told to be lost, too", () => {
  follow("e", 0, tell);
  passes(9);
  expect(news()).toEqual([]);
  passes(1);
  expect([news(), Stream.all.map(({ url }) => url)]).toEqual([["lost"], ["e", "e"]]);
});

test("a connection that breaks is lost at once, and the browser's own way back is not cut short", () => {
  follow("e", 0, tell);
  Stream.last.answers();
  Stream.last.brings(1);
  passes(4);
  Stream.last.breaks();
  expect(news()).toEqual(["up", "event 1", "lost"]);
  // Each refusal is an answer.
  for (let turn = 0; turn < 20; turn += 1) {
    passes(3);
    Stream.last.breaks();
  }
  expect([Stream.all.length, news()]).toEqual([1, []]);
  Stream.last.answers();
  expect(news()).toEqual(["up"]);
  // Where that stands still the watch does it.
  Stream.last.breaks();
  passes(10);
  expect([Stream.all.length, news()]).toEqual([2, ["lost"]]);
});

test("a run that is over when its stream is asked for anew is over", () => {
  follow("e", 0, tell);
  Stream.last.answers();
  passes(5);
  Stream.last.isOver();
  expect(news()).toEqual(["up", "stored"]);
  passes(60);
  expect([Stream.all.length, news()]).toEqual([2, []]);
  expect(vi.getTimerCount()).toBe(0);
});

test("all tabs of a browser are told by their one stream", async () => {
  let connect: (event: unknown) => void = () => undefined;
  vi.stubGlobal("addEventListener", (_: string, listener: typeof connect) => (connect = listener));
  await import("./relay");
  /** A tab that watches: what it is told, and how it asks. */
  const tab = () => {
    const told: string[] = [];
    const port = { onmessage: (_: unknown) => undefined, postMessage: (one: Told) => told.push(JSON.stringify(one)) };
    connect({ ports: [port] });
    return { told, ask: (asked: unknown) => port.onmessage({ data: asked }) };
  };
  const [one, two] = [tab(), tab()];
  one.ask({ url: "e", from: 0 });
  Stream.last.answers();
  Stream.last.brings(1);
  two.ask({ url: "e", from: 0 });
  const [first, second] = Stream.all;
  second?.answers();
  second?.brings(1);
  expect(second?.readyState, "one stream is enough").toBe(Stream.CLOSED);
  passes(15);
  expect(first?.readyState).toBe(Stream.CLOSED);
  Stream.last.answers();
  Stream.last.brings(2);
  const [up, lost] = [true, false].map((isUp) => JSON.stringify({ kind: "up", isUp }));
  const event = (id: number) => JSON.stringify({ kind: "event", id, data: `"${id}"` });
  for (const { told } of [one, two]) expect(told).toEqual([up, event(1), lost, up, event(2)]);
  // The last tab that goes takes the watch with it.
  for (const { ask } of [one, two]) ask(null);
  expect(vi.getTimerCount()).toBe(0);
});
