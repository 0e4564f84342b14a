// Three bakeries choose headlines for their visitors, each with a client of its own: alone, and together.
//
//     node shops.mjs PROGRAM [WORLDS]
//
// PROGRAM is `cahoots`; WORLDS is how many made-up worlds to try: 3 unless told.
import assert from 'node:assert/strict';
import { Client } from 'cahoots-client';
import { federation } from './nodes.mjs';
import { print } from './table.mjs';
import { SHOPS, visitor } from './world.mjs';

const [program, worlds = '3'] = process.argv.slice(2);
if (!program || !(Number(worlds) >= 1)) {
  console.error('usage: node shops.mjs path/to/cahoots [WORLDS]');
  process.exit(2);
}

/** Two shops have been there for a while when the third opens. */
const VISITORS = [200, 200, 100];
const NEWCOMER = 2;

/** As much exploration, whoever learns: of 0.05 to 1.2, what serves those best who are alone. */
const SAME = 'radius = { fixed = 0.5 }';
const ALONE = `kind = "linucb-alone"\n${SAME}`;
const FEDERATED = `kind = "async-linucb"\nratio = 1.2\nnew_client = "at-once"\n${SAME}`;

/** A shop's app: for every visitor, asks what to show, shows it, and says whether they clicked. */
async function business(client, world, shop) {
  const earned = { clicks: 0, likely: 0, best: 0 };
  for (let n = 0; n < VISITORS[shop]; n++) {
    const { arms, likes, clicks, best } = visitor(world, shop, n);
    const { id, arm } = await client.decide({ arms });
    await client.reward({ id, reward: clicks(arm) });
    earned.clicks += clicks(arm);
    earned.likely += likes(arm) / VISITORS[shop];
    earned.best += best / VISITORS[shop];
  }
  return earned;
}

/** What every shop earns. */
const story = (world, algorithm) =>
  federation(program, algorithm, async ({ open, merged }) => {
    const earned = [];
    const opens = async (shop) => (earned[shop] = await business(new Client({ url: await open(shop) }), world, shop));
    await Promise.all(SHOPS.map((_, shop) => shop !== NEWCOMER && opens(shop)));
    await opens(NEWCOMER);
    if (algorithm === FEDERATED) {
      const all = VISITORS.reduce((sum, visitors) => sum + visitors, 0);
      assert.equal(await merged(), all, 'every reward is merged, exactly once');
    }
    return earned;
  });

const runs = [];
for (let world = 1; world <= Number(worlds); world++) {
  const [alone, federated] = await Promise.all([story(world, ALONE), story(world, FEDERATED)]);
  runs.push({ alone, federated });
}

const of = (way, what, shop) => runs.map((run) => run[way][shop][what]);
const rows = SHOPS.map((name, shop) => ({
  name: shop === NEWCOMER ? `${name} (new)` : name,
  visitors: VISITORS[shop],
  alone: of('alone', 'likely', shop),
  federated: of('federated', 'likely', shop),
  best: of('alone', 'best', shop),
}));
print(rows);
const clicks = (way) => runs.flatMap((run) => run[way]).reduce((sum, { clicks }) => sum + clicks, 0);
console.log(`${clicks('alone')} clicks alone, ${clicks('federated')} federated. What shops sent each other were sums, not visitors.`);
