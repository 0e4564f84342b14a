/** What is asked and answered about decisions. The words are those of the HTTP interface. */

/** Numbers that describe an arm, as many as the federation's terms say. */
export type Features = readonly number[];

/** An arm by the app's own id, of up to 256 bytes. */
export interface NamedArm<Id extends string = string> {
  id: Id;
  /** What it is like, for this decision; left out, as it was registered. */
  features?: Features;
}

/** What every offer may say. */
export interface OfferExtras {
  /** For whom, where a client decides for several. */
  user?: number;
  /** So many of the best arms are ranked beside the choice; 100 at most. */
  top?: number;
  /** The app's own name for this decision, up to 256 bytes: asked again under it, the answer is the same. One is made up if none
   * is given (unless there are no retries), so that a reply that was lost can be asked for again. */
  event?: string;
  /** It counts only once it is activated; until then its rewards wait, and if it never is, it is given up at expiry. */
  deferred?: boolean;
  /** What was known before, for the client's record of decisions alone ([decisions] in its file): numbers and words under names. */
  context?: { readonly [name: string]: number | string };
}

/** Arms by position: rows of features, or how many there are where arms have none. */
export interface PositionOffer extends OfferExtras {
  arms: number | readonly Features[];
  /** Positions that cannot be chosen this time. */
  masked?: readonly number[];
  /** What the app would have done itself: needed where the client is its apprentice ([apprentice] in its file), refused where not. */
  baseline?: number;
}

/** Arms by id; all that are registered where none are listed. */
export interface NamedOffer<Id extends string = string> extends OfferExtras {
  arms?: readonly (Id | NamedArm<Id>)[];
  /** Ids that cannot be chosen this time. */
  masked?: readonly NoInfer<Id>[];
  /** What the app would have done itself: needed where the client is its apprentice ([apprentice] in its file), refused where not. */
  baseline?: NoInfer<Id>;
}

/** What an app offers. */
export type Offer = PositionOffer | NamedOffer;

/** What names the arms of an offer in its answer. */
export type ArmOf<O> = O extends PositionOffer
  ? number
  : O extends { arms: readonly (infer A)[] }
    ? A extends string
      ? A
      : A extends { id: infer Id extends string }
        ? Id
        : never
    : string;

/** What the policy knows of an arm; null where it cannot tell. */
export interface Known {
  /** What arms were compared by. */
  score: number | null;
  /** Where its expected reward is believed to lie. */
  interval: [low: number, high: number] | null;
  /** How likely it was to be taken in this decision. */
  probability: number | null;
}

/** An arm in a ranking. */
export interface Ranked<Arm extends string | number = string | number> extends Known {
  arm: Arm;
}

/** By what all have learned, by what this client has learned alone, or by the app itself, whose apprentice this client is. */
export type Decided = 'federated' | 'alone' | 'baseline';

/** What to do. */
export interface Decision<Arm extends string | number = string | number> extends Known {
  /** To be given back with the reward. */
  id: string;
  /** The event under which it was asked for. */
  event?: string;
  /** The chosen arm: an id where ids were offered, a position otherwise. */
  arm: Arm;
  /** Grows whenever what is known changes. */
  model: number;
  decided: Decided;
  /** The chosen arm, then the others by falling probability; where it was asked for, and the reward has not come yet. */
  ranking?: Ranked<Arm>[];
}

/** Which decision: by its id, or by its event. */
export type Of = { id: string; event?: never } | { event: string; id?: never };

/** What came of a decision; with `part`, a part of it. */
export type Reward = Of & {
  reward: number;
  /** Partial credit under a name, counted once: learned, as the sum of all parts, with the reward that has none, or at expiry. */
  part?: string;
};

/** A reward is on disk and counts once: it was learned from, known from before, or is kept until the other parts or the activation
 * are there. */
export interface Taken {
  status: 'learned' | 'repeated' | 'kept';
}

/** One reward of several that was refused. */
export interface NotTaken {
  /** Why, in the server's words. */
  error: string;
  /** The HTTP status that it would have had by itself. */
  code: number;
  status?: never;
}

/** What became of one reward of several: `error` tells which. */
export type TakenOrNot = (Taken & { error?: never; code?: never }) | NotTaken;

/** A deferred decision counts. */
export interface Activated {
  status: 'activated' | 'repeated';
}

/** A decision is given up. */
export interface Abandoned {
  status: 'abandoned' | 'repeated';
}
