// Federations that are made up, in the shapes that a coordinator and a client serve.

export const HOSTILE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script> "quoted" & `typed`';

export const NOW = Math.floor(Date.now() / 1000);

const state_of = (client) => {
  if (client % 97 === 31) return 'quarantined';
  if (client % 83 === 17) return 'refused';
  if (client % 41 === 8) return 'late';
  if (client % 29 === 5) return 'away';
  return 'here';
};

export function member(client, groups = 3) {
  const state = state_of(client);
  return {
    client,
    state,
    connected: !['away', 'late', 'refused'].includes(state),
    since: NOW - 3000 - client,
    last_contact: state === 'late' ? NOW - 7200 - client : state === 'away' ? NOW - 40 - client : NOW - (client % 9) - 0.5,
    waiting: client % 5,
    received: 40 + ((client * 7919) % 400),
    bytes_received: 81_000 + client * 130,
    bytes_sent: 120_000 + client * 11,
    implausible: state === 'quarantined' ? 9 : 0,
    refused: state === 'quarantined' ? 9 : client % 30 === 12 ? 2 : 0,
    reason: state === 'refused' ? `another store is client ${client} ${HOSTILE}` : client % 30 === 12 ? 'features up to 4e8, bound 1e6' : '',
    waited_for: client % 53 === 7,
    clusters: groups ? (client % 10 === 0 ? [client % groups, (client + 1) % groups] : [client % groups]) : [],
    joined: NOW - 90_000 - client,
    spent:
      client % 7 === 6
        ? null
        : { epsilon: ((client * 37) % 300) / 100, delta: 1e-5, unit: 'one observation', releases: 12 + (client % 5), unprotected: 0, ceiling: client % 2 ? 3.0 : null, withdrawn: client % 61 === 60 ? `ceiling reached ${HOSTILE}` : null },
    telemetry: client % 3 === 0 ? { rewards: 120, reward_sum: 33.5, unsent: 4, open_decisions: 2, gain: client % 2 ? { low: -0.1, estimate: 3.2, high: 6.5 } : null } : null,
  };
}

/** A federation of so many clients. `arms`: of plain arms, of whose means it knows nothing ("unknown") or something ("known"). */
export function world(clients, { groups = 3, hostile = false, arms = '' } = {}) {
  const members = Array.from({ length: clients }, (_, client) => member(client, groups));
  const of = (state) => members.filter((one) => one.state === state);
  const trouble = [
    ...of('refused').slice(0, 20).map((one) => ({ kind: 'refused', client: one.client, since: NOW - 500, words: `client ${one.client} was not let in: another store is client ${one.client}`, remedy: 'do what it is told there, at the client' })),
    ...of('quarantined').slice(0, 20).map((one) => ({ kind: 'quarantined', client: one.client, since: NOW - 900, words: `client ${one.client} is quarantined after 9 implausible uploads`, remedy: `\`cahoots members FILE restore ${one.client}\` once it is mended` })),
    ...of('late').slice(0, 20).map((one) => ({ kind: 'late', client: one.client, since: NOW - 60, words: `client ${one.client} has been away for long`, remedy: 'look at its log; what it has learned is kept there and sent when it is back' })),
  ];
  if (hostile) trouble.unshift({ kind: 'store', client: null, since: null, words: HOSTILE, remedy: HOSTILE });
  const observations = clients * 24_000 + (clients ? 331 : 0);
  return {
    status: {
      federation: hostile ? `shops ${HOSTILE}` : 'shops',
      algorithm: arms ? 'pf-ucb' : groups ? 'hetofed' : 'async-linucb',
      version: '0.1.0',
      now: NOW,
      started: NOW - 275_000,
      health: trouble.length ? 'attention' : 'ok',
      sentence: !clients ? 'Nobody has joined yet.' : trouble.length ? `${trouble.length} things need you; everything that could be merged is merged.` : `All is well: ${clients} of ${clients} clients are here and everything they sent is merged.`,
      observations,
      observation_bytes: 208,
      seats: Math.max(50, clients),
      members: clients,
      connected: members.filter((one) => one.connected).length,
      late: of('late').length,
      turned_away: clients > 1 ? 2 : 0,
      quarantined: of('quarantined').map((one) => one.client),
      waiting_for: members.filter((one) => one.waited_for).map((one) => one.client),
      removed: 0,
      received: clients * 180,
      refused: clients > 1 ? 3 : 0,
      implausible: clients > 1 ? 1 : 0,
      sent: clients * 410,
      relayed: 0,
      unconfirmed: clients ? 12 : 0,
      bytes_received: clients * 182_000,
      bytes_sent: clients * 660_000,
      plan: clients ? { messages: clients * 700, bytes: null } : null,
      rounds: 0,
      clusters: groups || null,
      params_version: 2,
      log: 812,
      commits: 7001,
      privacy: clients === 1 ? { epsilon: null, delta: null, unit: null, words: 'No privacy is promised: statistics leave clients without noise.' } : { epsilon: 1.0, delta: 1e-5, unit: 'one observation', words: 'Whoever sees all that a client releases learns almost nothing about any one observation: epsilon = 1.\nClients add the noise themselves, before anything leaves them.' },
      most_spent: clients > 1 ? { client: 17, epsilon: 0.8, ceiling: 3.0 } : null,
      attention: trouble,
      limits: { connections: 0, accept_errors: 0, late: clients > 1 ? 4 : 0, too_large: 0, open_decisions: 0, identities: clients > 1 ? 2 : 0 },
      revision: clients,
    },
    members,
    model: arms ? plain_arms(arms === 'known') : model(clients, groups, hostile),
    history: history(clients),
    journal: journal(clients, hostile),
  };
}

/** The same as one of several coordinators has it: what it does, and whether the log answers. */
export function replicated(role, { clients = 50, page = 'http://127.0.0.1:7782', stalled = false } = {}) {
  const made = world(role === 'leading' ? clients : 0);
  const at = { name: role === 'leading' ? 'b' : 'c', role, epoch: 4, leader: 'b', leader_address: 'https://b.example:7700', leader_page: page, sequence: 81_204, end: 81_204, lag: 0 };
  Object.assign(made.status, { replica: { ...at, snapshot: { sequence: 80_011, time: NOW - 720, bytes: 182_000 }, stalled_since: stalled ? NOW - 12 : null, servers: 'nats://a:4222,b:4222,c:4222' } });
  if (role !== 'leading') Object.assign(made.status, { observations: 1_200_331, seats: 50, sentence: 'This coordinator stands by: b leads, at https://b.example:7700.' });
  if (role === 'catching up') Object.assign(made.status.replica, { sequence: 1204, lag: 80_000 });
  if (stalled) {
    const words = 'the servers that keep the log do not answer (no NATS server at nats://a:4222): nothing is taken until they do, and nothing that was acknowledged is lost';
    made.status.attention.unshift({ kind: 'log', client: null, since: NOW - 12, words, remedy: 'look at the NATS servers: more than half of them must run and reach each other' });
    made.status.health = 'attention';
  }
  return made;
}

function model(clients, groups, hostile) {
  if (!clients) return { words: 'Nothing is merged yet.', models: [], confidence: null, shown: 0, models_in_all: 0 };
  const weights = (n) =>
    Array.from({ length: 26 }, (_, f) => {
      const value = Math.sin(f * 1.7 + n) * 0.6;
      return { name: `feature ${f}`, value, low: value - 0.08 - 0.01 * f, high: value + 0.08 + 0.01 * f };
    });
  const names = groups && clients > 1 ? Array.from({ length: groups }, (_, n) => `group ${n}`) : ['all clients'];
  const models = names.map((name, n) => ({ name: hostile ? `${name} ${HOSTILE}` : name, observations: 1204, clients: [n, n + 3, n + 6], weights: weights(n), arms: [] }));
  if (clients === 1) {
    models[0].weights = [];
    models[0].arms = [3, 0, 4, 1, 2].map((arm, n) => ({ name: `arm ${arm}`, value: 0.72 - 0.11 * n, low: 0.66 - 0.12 * n, high: 0.78 - 0.1 * n, active: n < 4, pulls: null }));
  }
  const words = models.length > 1 ? `${models.length} models, one per group, from 1,204 rewards each.` : 'One model for all clients, from 1,204 rewards.';
  return { words, models, confidence: 0.95, shown: models.length, models_in_all: models.length };
}

/** As a server of plain arms tells it: before the first round nobody knows a mean; who was given up early is known less well. */
function plain_arms(known) {
  const arms = [6, 2, 0, 5, 1, 4, 3].map((arm, n) => {
    const [active, value, half] = [n < 3, 0.71 - 0.07 * n, n < 3 ? 0.05 : 0.14];
    return known ? { name: `arm ${arm}`, value, low: value - half, high: value + half, active, pulls: active ? 12_800 : 1600 } : { name: `arm ${n}`, value: null, low: null, high: null, active: true, pulls: null };
  });
  // Nobody has told anything of the last one.
  if (known) arms.push({ name: 'arm 7', value: null, low: null, high: null, active: false, pulls: null });
  const words = known ? '3 of 8 arms may still be the best, by means over all clients.' : '7 of 7 arms may still be the best; no mean is known yet.';
  return { words, models: [{ name: 'all clients', observations: null, clients: null, weights: [], arms }], confidence: known ? 0.99999 : null, shown: 1, models_in_all: 1 };
}

function history(clients) {
  const points = clients ? 600 : 0;
  const column = (f) => Array.from({ length: points }, (_, n) => f(n));
  return {
    step_seconds: 6,
    time: column((n) => NOW - (points - n) * 6),
    received: column((n) => Math.round(clients * (1 + Math.sin(n / 40)) * 0.3 + (n % 7))),
    sent: column((n) => Math.round(clients * (1 + Math.cos(n / 60)) * 0.5 + (n % 5))),
    refused: column((n) => (n % 90 === 0 ? 2 : 0)),
    bytes_received: column((n) => Math.round(clients * 900 * (1 + Math.sin(n / 40)))),
    bytes_sent: column((n) => Math.round(clients * 2100 * (1 + Math.cos(n / 60)))),
    connected: column((n) => Math.max(0, clients - (n % 11 === 0 ? 1 : 0))),
    observations: column((n) => clients * 24_000 - (points - n) * clients),
  };
}

function journal(clients, hostile) {
  const kinds = ['connected', 'disconnected', 'joined', 'refused', 'round', 'params'];
  return Array.from({ length: Math.min(400, clients * 12) }, (_, n) => ({
    number: 1000 - n,
    time: NOW - n * 37,
    kind: kinds[n % kinds.length],
    client: n % kinds.length < 4 ? (n * 7) % clients : null,
    words: hostile ? HOSTILE : n % kinds.length < 4 ? ['is here', 'went away', 'is a member from now on', 'sent what was not merged'][n % kinds.length] : 'everyone was told',
  }));
}

/** A client, as its own page asks for it. */
export function client_world({ hostile = false, connected = true, gain = true } = {}) {
  const words = hostile ? HOSTILE : 'the coordinator did not merge 2 of this client’s uploads with 31 observations. Look at the scale of features and rewards';
  const points = 300;
  const column = (f) => Array.from({ length: points }, (_, n) => f(n));
  return {
    status: {
      client: 4, joined: true, connected, uploads: 41, downloads: 77, unconfirmed: 1, unsent: 6,
      refusals: { uploads: hostile ? 2 : 0, observations: hostile ? 31 : 0, reason: hostile ? HOSTILE : '' },
      lost: 0, problems: hostile ? [words] : [], releases: 41, unprotected: 41, refused: 0, params_version: 1, open_decisions: 3, expired: 1, epoch: 5180227136420,
      attempts: 1, trouble: connected ? null : 'connection refused', limits: {},
      privacy: { promised_epsilon: null, promised_delta: null, spent: [], unprotected: 41, old_copies: 0, ceiling: null, withdrawn: null, words: 'No privacy: the federation’s terms promise none, and 41 statistics have left this client without noise.' },
    },
    history: {
      step_seconds: 6,
      time: column((n) => NOW - (points - n) * 6),
      decisions: column((n) => 4 + (n % 3)),
      rewards: column((n) => 4 + (n % 2)),
      reward_sum: column((n) => (4 + (n % 2)) * (0.4 + 0.3 * (1 - Math.exp(-n / 60)) + 0.05 * Math.sin(n))),
      federated: column((n) => (n > 40 ? 1 : 0)),
    },
    gain: gain
      ? { decisions: 120, differed: 31, low: 0.4, estimate: 3.2, high: 6.5, confidence: 0.95, words: hostile ? HOSTILE : 'Federation has gained this client 3.2 of reward (between 0.4 and 6.5, with 95% confidence) over 120 decisions.' }
      : { words: 'It is not known for this algorithm.', decisions: null, differed: null, low: null, estimate: null, high: null, confidence: null },
  };
}
