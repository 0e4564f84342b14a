// Compiled, never run, by document.test.mjs: the client's types against those that the server's own document gives.
import type * as ours from '../src/index.js';
import type * as theirs from './theirs.js';

/** Whether a list may be changed is nobody's affair on the wire, and what must not be there is not there. */
type Plain<T> = T extends readonly unknown[]
  ? { readonly [K in keyof T]: Plain<T[K]> }
  : T extends object
    ? { readonly [K in keyof T as [Exclude<T[K], undefined>] extends [never] ? never : K]: Plain<T[K]> }
    : T;
type Keys<T> = T extends unknown ? keyof Plain<T> : never;

/** All keys of one are keys of the other. */
type SameKeys<A, B> = [Keys<A>, Keys<B>] extends [Keys<B>, Keys<A>] ? true : false;
type Takes<A, B> = [Plain<B>] extends [Plain<A>] ? true : false;
type Must<T> = T extends true ? [] : [never];

/** Answers: whatever the server may say is what the types say, and nothing else. */
const answers = <Ours, Theirs>(..._: Must<Takes<Ours, Theirs> & Takes<Theirs, Ours> & SameKeys<Ours, Theirs>>): void => {};
/** Questions: whatever the types let one say the server takes, and there is no word of it that cannot be said. */
const questions = <Ours, Theirs>(..._: Must<Takes<Theirs, Ours> & SameKeys<Ours, Theirs>>): void => {};

answers<ours.Decision, theirs.Decision>();
answers<ours.Ranked, theirs.Ranked>();
answers<{ decisions: ours.Decision[] }, theirs.Decisions>();
answers<ours.Taken, theirs.Taken>();
answers<{ rewards: ours.TakenOrNot[] }, theirs.TakenAll>();
answers<ours.Activated, theirs.Activated>();
answers<ours.Abandoned, theirs.Abandoned>();
answers<ours.Registered, theirs.ArmsCount>();
answers<Exclude<ours.Health, { status: 'unavailable' }>, theirs.Health>();
answers<{ error: string }, theirs.Error>();
answers<ours.Gain, theirs.Gain>();
answers<ours.Status, theirs.Status>();
answers<ours.Apprentice, theirs.Apprentice>();
answers<ours.DecisionLog, theirs.DecisionLog>();
answers<ours.RefusedUploads, theirs.RefusedUploads>();
answers<ours.Refusals, theirs.Refusals>();
answers<ours.Privacy, theirs.Privacy>();
answers<ours.Spent, theirs.Spent>();

questions<ours.Offer, theirs.Offer>();
questions<ours.NamedArm, Exclude<theirs.Arm, string>>();
questions<{ decisions: ours.Offer[] }, theirs.Offers>();
questions<ours.Reward, theirs.Reward>();
questions<{ rewards: ours.Reward[] }, theirs.Rewards>();
questions<ours.Of, theirs.Which>();
questions<{ register: ours.Registration[]; retire: string[] }, theirs.ArmsChange>();
// Of what is registered, the types know more than the document: features or an index.
questions<{ arms: ours.Registration[] }, theirs.ArmsList>();
