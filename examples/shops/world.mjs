// A made-up world. Nobody in it is told what is in this file but for the headlines and what can be seen of a visitor.

/** What a headline speaks of: how much of price, freshness, craft and hurry. */
const TOPICS = ['price', 'freshness', 'craft', 'hurry'];
export const HEADLINES = {
  'Half the price': [1, 0, 0, 0],
  'Baked this morning': [0, 1, 0, 0],
  'As grandma made it': [0, 0, 1, 0],
  'Only today': [0, 0, 0, 1],
  'Fresh, and cheaper than ever': [0.7, 0.7, 0, 0],
  'Last loaves, half the price': [0.6, 0, 0, 0.8],
  'By hand, every night': [0, 0.6, 0.8, 0],
  'Old recipes, while they last': [0, 0, 0.8, 0.6],
};

/** What visitors like, by what can be seen of them: anyone, those who have been here before, those who come in the evening. Clicks
 * per visitor, added up. */
const LIKES = [
  [0.05, 0.15, 0.1, 0.0],
  [-0.1, 0.0, 0.25, -0.1],
  [0.25, -0.2, 0.0, 0.15],
];
const ANYONE = 0.1;

/** Numbers of the features of an arm: a constant, and every topic times everything that can be seen of the visitor. */
export const DIM = 1 + TOPICS.length * LIKES.length;
/** So that no arm's features are longer than 1. */
const SCALE = 0.5;

export const SHOPS = ['Old town', 'Station', 'Harbour'];
/** How much the visitors of a shop differ from the others'. */
const OWN = 0.03;

/** A number from 0 to 1 for each thing there is a name for; always the same. */
function draw(...names) {
  let hash = 2166136261;
  for (const letter of names.join('/')) hash = Math.imul(hash ^ letter.charCodeAt(0), 16777619);
  for (let round = 0; round < 3; round++) hash = Math.imul(hash ^ (hash >>> 15), 2246822519 + 2 * round);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}

/** The n-th visitor of a shop: the same whoever decides. */
export function visitor(world, shop, n) {
  const seen = [1, Number(draw(world, shop, n, 'returning') < 0.5), Number(draw(world, shop, n, 'evening') < 0.5)];
  const arms = Object.entries(HEADLINES).map(([id, topics]) => ({ id, features: [SCALE, ...seen.flatMap((one) => topics.map((topic) => SCALE * one * topic))] }));
  /** How likely a click is. */
  const likes = (headline) => {
    const topics = HEADLINES[headline];
    const liked = seen.map((one, s) => one * topics.reduce((sum, topic, t) => sum + topic * (LIKES[s][t] + own(world, shop, s, t)), 0));
    return Math.min(1, Math.max(0, liked.reduce((sum, one) => sum + one, ANYONE)));
  };
  const luck = draw(world, shop, n, 'luck');
  return { arms, likes, clicks: (headline) => Number(luck < likes(headline)), best: Math.max(...Object.keys(HEADLINES).map(likes)) };
}

const own = (world, shop, s, t) => OWN * (2 * draw(world, shop, s, t, 'own') - 1);
