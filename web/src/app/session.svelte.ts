// What the session of this browser may do, as the server says. What it may not is shown, but cannot be pressed: the server
// would refuse it. As long as nothing is known, nothing is kept from anyone; the server judges all the same.

import { api, type Role } from "./api";

const rank: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

const state = $state<{ role: Role | null }>({ role: null });

/** Asks who this is. */
export async function introduce(): Promise<void> {
  try {
    state.role = (await api.session()).role;
  } catch {
    // Whoever is nobody is told so by the page itself.
  }
}

export const may = (role: Role): boolean => state.role === null || rank[state.role] >= rank[role];
