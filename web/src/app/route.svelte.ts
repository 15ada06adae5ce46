// Which page is shown: the part of the address after the hash, so that the server has one page to give. Pure but for the
// address itself.

export interface Route {
  page: "compose" | "curve" | "steady" | "runs" | "run" | "live" | "compare" | "unknown";
  /** Of `run` and `live` the run; of `compare` the sides, runs of one joined by ~; of `compose` the run whose job is
   * taken, of `steady` the one that is gone on with. */
  runs: string[];
}

/** What an address says; none leads to the list of runs. */
export function parseRoute(hash: string): Route {
  const [page = "", rest = ""] = hash.replace(/^#\/?/, "").split("/", 2);
  let runs: string[];
  try {
    runs = rest
      .split(",")
      .filter((run) => run !== "")
      .map(decodeURIComponent);
  } catch {
    // A per cent sign that begins no code, such as in an address that was cut.
    return { page: "unknown", runs: [] };
  }
  switch (page) {
    case "compose":
    case "curve":
    case "steady":
    case "compare":
      return { page, runs };
    case "run":
    case "live":
      return { page: runs.length === 1 ? page : "unknown", runs };
    case "":
    case "runs":
      return { page: "runs", runs: [] };
    default:
      return { page: "unknown", runs: [] };
  }
}

/** The address of another form of the page that is shown, which stays. */
export function readdress(to: Route): void {
  history.replaceState(null, "", address(to));
}

export function address({ page, runs }: Route): string {
  return runs.length > 0 ? `#/${page}/${runs.map(encodeURIComponent).join(",")}` : `#/${page}`;
}

const state = $state({ route: parseRoute(location.hash), visits: 0 });
let shown = location.hash;
addEventListener("hashchange", () => {
  shown = location.hash;
  state.route = parseRoute(shown);
});
// This comes for any address, also for the one that is shown.
addEventListener("popstate", () => {
  if (location.hash === shown) state.visits += 1;
});

export function route(): Route {
  return state.route;
}

/** Counts how often someone went to the address that was shown already, to see it anew. */
export function visits(): number {
  return state.visits;
}

export function go(to: Route): void {
  location.hash = address(to);
}

/** Goes on to a page that stands for the one that is shown: the way back leads to what was before both. */
export function goOn(to: Route): void {
  location.replace(address(to));
}
