// One errand to the server: a job as it was when somebody asked for its plan or its start, and all that is asked about it
// until the run has begun. Once it is taken back nothing comes of it, whichever answers come later. Knows nothing of views.

import { api, type Answer, type Plan, type Search, type Upload } from "./api";

export class Errand {
  readonly #back = new AbortController();
  #isOnItsWay = false;

  constructor(
    readonly job: Upload,
    readonly search: Search | undefined,
  ) {}

  /** What the job would do with these answers; undefined where the errand was taken back. */
  plan(answers: Answer[]): Promise<Plan | undefined> {
    return this.#unlessBack(api.plan(this.job, answers, this.search, this.#back.signal));
  }

  /** The run that has begun; undefined where the errand was taken back. */
  async start(answers: Answer[]): Promise<string | undefined> {
    if (this.#back.signal.aborted) return undefined;
    this.#isOnItsWay = true;
    try {
      return (await this.#unlessBack(api.start(this.job, answers, this.search, this.#back.signal)))?.run;
    } finally {
      this.#isOnItsWay = false;
    }
  }

  takeBack(): void {
    this.#back.abort();
  }

  /** Whether a start was sent that has no answer yet: who takes it back now cannot know whether the server has it. */
  get isOnItsWay(): boolean {
    return this.#isOnItsWay;
  }

  /** What comes, be it a fault, unless the errand was taken back until then. */
  async #unlessBack<T>(asked: Promise<T>): Promise<T | undefined> {
    try {
      const found = await asked;
      return this.#back.signal.aborted ? undefined : found;
    } catch (fault) {
      if (this.#back.signal.aborted) return undefined;
      throw fault;
    }
  }
}
