// One stream of events for all tabs of a browser: a browser opens six connections to a server at most (HTTP/1.1), and each
// stream holds one. Runs as a shared worker. Knows no views, and keeps no events: a tab that comes late has a stream of its
// own from the beginning, which is given up where it has caught up with that of the others.

import { follow, type Told } from "./follow";

/** What a tab asks for: a run after one of its events, or nothing any more. */
export type Asked = { url: string; from: number } | null;

/** A stream and the tabs that are told of it. */
interface Source {
  url: string;
  /** Number of the last event. */
  last: number;
  isUp: boolean;
  ports: Set<MessagePort>;
  close: () => void;
}

const sources = new Set<Source>();

function leave(port: MessagePort): void {
  for (const source of sources) {
    if (source.ports.delete(port) && source.ports.size === 0) end(source);
  }
}

function end(source: Source): void {
  source.close();
  sources.delete(source);
}

/** Gives a stream up that is where another of the same run is. It gets there: the newest event is in both, whatever is left
 * out before it. */
function merge(source: Source): void {
  for (const other of sources) {
    if (other === source || other.url !== source.url || other.last !== source.last || !other.isUp) continue;
    for (const port of source.ports) other.ports.add(port);
    end(source);
    return;
  }
}

function open(url: string, from: number, port: MessagePort): void {
  const source: Source = { url, last: from, isUp: false, ports: new Set([port]), close: () => undefined };
  sources.add(source);
  source.close = follow(url, from, (told: Told) => {
    for (const port of source.ports) port.postMessage(told);
    switch (told.kind) {
      case "up":
        source.isUp = told.isUp;
        if (told.isUp) merge(source);
        break;
      case "over":
        end(source);
        break;
      case "event":
        source.last = Math.max(source.last, told.id);
        merge(source);
    }
  });
}

addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0];
  if (!port) return;
  port.onmessage = ({ data }: MessageEvent<Asked>) => {
    leave(port);
    if (data) open(data.url, data.from, port);
  };
});
