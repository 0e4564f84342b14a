// Compiled, never run: what the compiler must know about calls, and what it must refuse.
import { CahootsError, Client, type Decision, type Offer, type Taken } from '../src/index.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(..._: Equal<A, B> extends true ? [] : [never]): void => {};

declare const client: Client;
declare const someone: Offer;
declare const listed: readonly string[];

export async function calls(): Promise<void> {
  // By position, the answer is a position; by id, it is one of the ids.
  const position = await client.decide({ arms: [[1, 0], [0, 1]], masked: [1], baseline: 0, user: 7, context: { hour: 17, city: 'Ulm' } });
  same<typeof position, Decision<number>>();
  const plain = await client.decide({ arms: 25 });
  same<typeof plain.arm, number>();
  const named = await client.decide({ arms: [{ id: 'red', features: [1, 0] }, { id: 'blue' }, 'green'], masked: ['red'], baseline: 'blue', top: 2 });
  same<typeof named.arm, 'red' | 'blue' | 'green'>();
  same<NonNullable<typeof named.ranking>[number]['arm'], 'red' | 'blue' | 'green'>();
  const all = await client.decide({ deferred: true });
  same<typeof all.arm, string>();
  const any = await client.decide({ arms: listed });
  same<typeof any.arm, string>();
  const unknown = await client.decide(someone);
  same<typeof unknown.arm, string | number>();
  const [first, second, third] = await client.decideAll([{ arms: 3 }, { arms: ['a', 'b'] }, {}]);
  same<typeof first.arm, number>();
  same<typeof second.arm, 'a' | 'b'>();
  same<typeof third.arm, string>();

  // @ts-expect-error an id that is not on offer
  await client.decide({ arms: ['red', 'blue'], masked: ['rde'] });
  // @ts-expect-error positions and ids do not mix
  await client.decide({ arms: [[1, 0]], masked: ['red'] });
  // @ts-expect-error a word that there is not
  await client.decide({ arms: 3, maskd: [1] });
  // @ts-expect-error features are numbers
  await client.decide({ arms: [['1', 0]] });

  await client.reward({ id: position.id, reward: 1 });
  await client.reward({ event: 'visit 7', reward: 1, part: 'cart' });
  // @ts-expect-error a decision by its id or by its event, not both
  await client.reward({ id: '7-1', event: 'visit 7', reward: 1 });
  // @ts-expect-error without either
  await client.reward({ reward: 1 });
  // @ts-expect-error a reward is a number
  await client.reward({ id: '7-1', reward: '1' });

  // What became of each of several must be asked before it is used.
  for (const one of await client.rewardAll([{ id: '7-1', reward: 1 }])) {
    // @ts-expect-error it may not have been refused
    one.error.length;
    if (one.error !== undefined) same<typeof one.code, number>();
    else same<typeof one.status, Taken['status']>();
  }

  const health = await client.health();
  if (health.status === 'unavailable') same<typeof health.error, string>();
  else same<typeof health.problems, string[]>();

  await client.arms.register([{ id: 'red', features: [1, 0] }, { id: 'blue', index: 1 }]);
  // @ts-expect-error features or an index
  await client.arms.register([{ id: 'red' }]);

  const error: unknown = undefined;
  if (error instanceof CahootsError) same<typeof error.failure, 'refused' | 'unavailable' | 'unreachable' | 'timeout' | 'unreadable'>();
}
