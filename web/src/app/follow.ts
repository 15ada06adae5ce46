// A run's events from the server, as they come: a lost connection is taken up again where it broke. Works in a page and in a
// worker; knows nothing of views.

/** Kinds of events, each of which has a name of its own in the stream. */
const kinds = [
  ...["run_started", "step_started", "interval", "figures", "targets", "host", "note", "step_finished", "run_finished"],
  ...["preparing", "gap"],
];

/** What is told of a run. */
export type Told =
  | { kind: "event"; id: number; data: string }
  /** Whether events come, or a lost connection is waited for. */
  | { kind: "up"; isUp: boolean }
  /** The run is over: no more will come. */
  | { kind: "over"; isStored: boolean };

/** Follows a run after one of its events, until the function that is given back is called. */
export function follow(url: string, from: number, tell: (told: Told) => void): () => void {
  const source = new EventSource(from > 0 ? `${url}?last_event_id=${from}` : url);
  source.onopen = () => tell({ kind: "up", isUp: true });
  source.onerror = () => {
    // The browser asks again by itself, and after the last event; unless it was told that there is nothing.
    if (source.readyState === EventSource.CLOSED) tell({ kind: "over", isStored: true });
    else tell({ kind: "up", isUp: false });
  };
  for (const kind of kinds) {
    source.addEventListener(kind, (message: MessageEvent<string>) => {
      tell({ kind: "event", id: Number(message.lastEventId), data: message.data });
      if (kind !== "run_finished") return;
      source.close();
      tell({ kind: "over", isStored: false });
    });
  }
  return () => source.close();
}
