// Events of a run for a page: by the stream that all tabs of the browser share, or by one of its own where there are no
// shared workers. Knows nothing of views.

import { api } from "./api";
import type { RunEvent } from "./events";
import { follow, type Told } from "./follow";
import type { Asked } from "./relay";

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

/** Listens until the function that is given back is called. */
export function listen(run: string, listener: Listener): () => void {
  let last = 0;
  const tell = (told: Told): void => {
    switch (told.kind) {
      case "up":
        return listener.connected(told.isUp);
      case "over":
        return told.isStored ? listener.over() : undefined;
      case "event": {
        const event = JSON.parse(told.data) as { event: string };
        if (event.event === "gap") return listener.gap();
        last = Math.max(last, told.id);
        if (event.event === "preparing") return listener.preparing(JSON.parse(told.data));
        return listener.event(told.id, event as RunEvent);
      }
    }
  };
  let end = begin(api.eventsUrl(run), 0, tell);
  // A page that is put aside would hold its place in the stream; it goes on where it was when it is shown again.
  const aside = () => end();
  const shown = ({ persisted }: PageTransitionEvent) => {
    if (persisted) end = begin(api.eventsUrl(run), last, tell);
  };
  addEventListener("pagehide", aside);
  addEventListener("pageshow", shown);
  return () => {
    removeEventListener("pagehide", aside);
    removeEventListener("pageshow", shown);
    end();
  };
}

function begin(url: string, from: number, tell: (told: Told) => void): () => void {
  if (typeof SharedWorker === "undefined") return follow(url, from, tell);
  const { port } = new SharedWorker(new URL("./relay.ts", import.meta.url));
  const ask = (asked: Asked) => port.postMessage(asked);
  port.onmessage = ({ data }: MessageEvent<Told>) => tell(data);
  // Relative addresses in a worker are those of its script.
  ask({ url: new URL(url, location.href).href, from });
  return () => {
    ask(null);
    port.close();
  };
}
