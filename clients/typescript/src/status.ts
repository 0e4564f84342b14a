/** How a client stands, as `GET /status`, `/gain` and `/health` tell it. */

/** Whether inputs are taken. */
export type Health =
  /** They are; where it is `degraded`, `problems` say why. */
  | { status: 'ok' | 'degraded'; problems: string[] }
  /** They are not: the client does not know the federation's terms yet, or cannot write. */
  | { status: 'unavailable'; error: string };

/** What federation gained this client, at any time and at all times at once with this confidence; all but the words are null where
 * it is not known. */
export interface Gain {
  /** Decisions that were compared. */
  decisions: number | null;
  /** Those where own data alone would have chosen otherwise. */
  differed: number | null;
  low: number | null;
  estimate: number | null;
  /** Below 0, federation hurts. */
  high: number | null;
  confidence: number | null;
  /** Decisions are taken by own data alone, because federation was found to hurt. */
  left: boolean;
  words: string;
}

/** Uploads that the coordinator would not merge: what was in them is kept. */
export interface RefusedUploads {
  uploads: number;
  observations: number;
  reason: string;
}

/** How often each limit was met. */
export interface Refusals {
  connections: number;
  accept_errors: number;
  late: number;
  too_large: number;
  open_decisions: number;
  identities: number;
}

/** What was spent of one unit against one observer. */
export interface Spent {
  unit: string;
  observer: string;
  epsilon: number | null;
  delta: number;
  rho: number | null;
  releases: number;
  spending: number;
}

/** What the terms promise about users' data, what was spent, and the most that may be. */
export interface Privacy {
  promised_epsilon: number | null;
  promised_delta: number | null;
  spent: Spent[];
  unprotected: number;
  old_copies: number;
  ceiling: { max_epsilon: number; max_delta: number; unit: 'event' | 'user' } | null;
  withdrawn: string | null;
  words: string;
  /** What is shown beside all that was released, and to whom. */
  beside: string[];
}

/** Who decides, the client or its app, and how the two compare in the present round. */
export interface Apprentice {
  /** Who decides, but for `explore`: the app itself, or the client. */
  mode: 'apprentice' | 'in-charge';
  /** A new one begins when the app was found to be better again. */
  round: number;
  /** Decisions of this round. */
  decisions: number;
  /** Those where the two picked something else, whose reward has come, and with none before them that waits for its own. */
  differed: number;
  /** Those where they did, and whose reward will not come. */
  missing: number;
  /** Those where they did, and whose reward is awaited. */
  open: number;
  /** What the client's picks have earned more than the app's own, added up: not less than this. Above 0, it is in charge. */
  low: number;
  estimate: number;
  high: number;
  /** How sure either bound is, at all times at once. */
  confidence: number;
  /** How often the client took over, ever. */
  takeovers: number;
  /** The share of decisions that are left to the other. */
  explore: number;
  words: string;
}

/** A record of decisions, on the client's machine alone. */
export interface DecisionLog {
  /** Rows written since this start. */
  rows: number;
  /** Rows left out since this start, because the disk did not take them. */
  lost: number;
  /** Files that are complete. */
  files: number;
  /** What is wrong, while it is. */
  problem: string | null;
}

/** What the client is doing. */
export interface Status {
  client: number;
  joined: boolean;
  connected: boolean;
  /** The coordinator in use; null where there is no connection. */
  coordinator: string | null;
  /** Where a coordinator may be, in the order in which they are tried. */
  coordinators: string[];
  uploads: number;
  downloads: number;
  unconfirmed: number;
  unsent: number;
  refusals: RefusedUploads;
  lost: number;
  problems: string[];
  releases: number;
  unprotected: number;
  refused: number;
  params_version: number;
  open_decisions: number;
  expired: number;
  epoch: number;
  attempts: number;
  /** Since this start. */
  decisions: number;
  /** Learned from since this start. */
  rewards: number;
  reward_sum: number;
  gain: Gain;
  /** Null where the client is no apprentice. */
  apprentice: Apprentice | null;
  trouble: string | null;
  limits: Refusals;
  privacy: Privacy;
  /** How the record of decisions fares, where one is kept. */
  decision_log: DecisionLog | null;
}
