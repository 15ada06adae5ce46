// Which runs go on, asked for now and then, so that pages that show it keep up: runs are begun and ended in other tabs, by
// other people and by other processes. Knows nothing of views.

import { api } from "./api";

/** Pause between questions: an end is seen as soon as somebody looks up, and an answer is some dozen bytes. */
const pause_ms = 5000;

/**
 * Until the function that is given back is called, has a page made anew whenever other runs go on than it shows: also when
 * its tab is looked at again, which asks nothing as long as it is hidden. What could not be asked is asked again.
 */
export function keepUp(isShown: (going: string[]) => boolean, refresh: () => Promise<unknown>): () => void {
  let isAsking = false;
  let isOver = false;
  const look = async (): Promise<void> => {
    if (document.hidden || isAsking) return;
    isAsking = true;
    try {
      const going = await api.going();
      if (!isOver && !isShown(going)) await refresh();
    } catch {
      // The page stays as it is, and the server may answer next time.
    } finally {
      isAsking = false;
    }
  };
  const seen = () => void look();
  const timer = setInterval(seen, pause_ms);
  document.addEventListener("visibilitychange", seen);
  seen();
  return () => {
    isOver = true;
    clearInterval(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}
