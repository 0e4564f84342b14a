// What a coordinator and a client serve as JSON. A field that an older or another server leaves out is `undefined`: nothing
// here may be trusted to be there but the few that are not optional.

export interface Status {
  federation: string;
  algorithm: string;
  version?: string;
  now: number;
  started: number;
  health: 'ok' | 'attention' | 'failing';
  sentence: string;
  observations?: number | null;
  observation_bytes?: number | null;
  seats: number;
  members: number;
  connected: number;
  late?: number;
  turned_away?: number;
  quarantined?: number[];
  waiting_for?: number[];
  removed?: number;
  received: number;
  refused?: number;
  implausible?: number;
  sent: number;
  relayed?: number;
  unconfirmed?: number;
  bytes_received: number;
  bytes_sent: number;
  plan?: { messages?: number | null; bytes?: number | null } | null;
  rounds?: number;
  clusters?: number | null;
  params_version?: number;
  log?: number;
  commits?: number;
  privacy?: Promised | null;
  most_spent?: { client: number; epsilon: number; ceiling?: number | null } | null;
  attention?: Attention[];
  limits?: Record<string, number>;
  revision: number;
  replica?: Replica | null;
}

/** Where a coordinator stands among several with one log. */
export interface Replica {
  name: string;
  role: 'leading' | 'standing by' | 'catching up';
  epoch: number;
  leader?: string | null;
  leader_address?: string | null;
  leader_page?: string | null;
  sequence: number;
  end: number;
  lag: number;
  snapshot?: { sequence: number; time: number; bytes: number } | null;
  stalled_since?: number | null;
}

/** What the terms promise about users' data. */
export interface Promised {
  epsilon?: number | null;
  delta?: number | null;
  unit?: string | null;
  words: string;
}

export interface Attention {
  kind: string;
  client?: number | null;
  since?: number | null;
  words: string;
  remedy?: string;
}

export type State = 'here' | 'away' | 'late' | 'refused' | 'quarantined' | 'removed';

export interface Member {
  client: number;
  state: State | 'gone';
  connected: boolean;
  since?: number | null;
  last_contact?: number | null;
  waiting?: number;
  received?: number;
  bytes_received?: number;
  bytes_sent?: number;
  implausible?: number;
  refused?: number;
  reason?: string;
  waited_for?: boolean;
  clusters?: number[];
  joined?: number | null;
  spent?: Spent | null;
  telemetry?: Telemetry | null;
}

export interface Spent {
  epsilon?: number | null;
  delta?: number | null;
  unit?: string;
  releases?: number;
  unprotected?: number;
  ceiling?: number | null;
  withdrawn?: string | null;
}

export interface Telemetry {
  rewards?: number | null;
  reward_sum?: number | null;
  unsent?: number | null;
  open_decisions?: number | null;
  gain?: { low: number; estimate: number; high: number } | null;
}

export interface Members {
  revision: number;
  members: Member[];
}

export interface Model {
  words: string;
  models: OneModel[];
  confidence?: number | null;
  shown?: number;
  models_in_all?: number;
}

export interface OneModel {
  name: string;
  observations?: number | null;
  clients?: number[] | null;
  weights?: Estimate[];
  arms?: Estimate[];
}

export interface Estimate {
  name: string;
  /** Nobody has told anything of some arms. */
  value: number | null;
  low?: number | null;
  high?: number | null;
  active?: boolean;
  pulls?: number | null;
}

export type Columns = Record<string, number[]>;

export interface Happening {
  number: number;
  time: number;
  kind: string;
  client?: number | null;
  words: string;
}

/** What a client tells about itself. */
export interface ClientStatus {
  client: number;
  joined: boolean;
  connected: boolean;
  uploads: number;
  downloads: number;
  unconfirmed: number;
  unsent: number;
  refusals: { uploads: number; observations: number; reason: string };
  lost: number;
  problems: string[];
  releases: number;
  unprotected: number;
  open_decisions: number;
  expired: number;
  trouble: string | null;
  apprentice?: Apprentice | null;
  privacy: {
    promised_epsilon?: number | null;
    promised_delta?: number | null;
    spent?: Record<string, unknown>[];
    ceiling?: { max_epsilon: number; max_delta: number; unit: string } | null;
    withdrawn?: string | null;
    words: string;
  };
}

/** Who decides, a client or its app. */
export interface Apprentice {
  mode: 'apprentice' | 'in-charge';
  round: number;
  decisions: number;
  differed: number;
  low: number;
  high: number;
  explore: number;
  words: string;
}

export interface Gain {
  words: string;
  decisions?: number | null;
  differed?: number | null;
  left?: boolean;
  low?: number | null;
  estimate?: number | null;
  high?: number | null;
  confidence?: number | null;
}
