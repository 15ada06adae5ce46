// Events of a run from the server, numbered; a lost connection is taken up again where it broke. Knows nothing of views.

import { api } from "./api";
import type { RunEvent } from "./events";

/** Kinds of events that have a name of their own in the stream. */
const kinds = ["message", "run_started", "step_started", "interval", "host", "note", "step_finished", "run_finished"];

export interface Listener {
  event: (id: number, event: RunEvent) => void;
  /** A path that is laid out, and how far that is. */
  preparing: (progress: { path: string; done_bytes: number; total_bytes: number }) => void;
  /** Some events are no longer kept; the record has all. */
  gap: () => void;
  /** The run is over and only stored: there is nothing to listen to. */
  over: () => void;
  /** Whether events come, or a lost connection is waited for. */
  connected: (isUp: boolean) => void;
}

/** Listens until the function that is given back is called. The browser sends the last number when it comes back. */
export function listen(run: string, listener: Listener): () => void {
  const source = new EventSource(api.eventsUrl(run));
  source.onopen = () => listener.connected(true);
  source.onerror = () => {
    // The browser asks again by itself, unless it was told that there is nothing.
    if (source.readyState === EventSource.CLOSED) listener.over();
    else listener.connected(false);
  };
  for (const kind of kinds) {
    source.addEventListener(kind, (message: MessageEvent<string>) => {
      const event = JSON.parse(message.data) as RunEvent;
      listener.event(Number(message.lastEventId), event);
      if (event.event === "run_finished") source.close();
    });
  }
  source.addEventListener("preparing", (message: MessageEvent<string>) => listener.preparing(JSON.parse(message.data)));
  source.addEventListener("gap", () => listener.gap());
  return () => source.close();
}
