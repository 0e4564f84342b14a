// A server that plays a made-up federation, under the policy that the real one sets. It can die and come back on its port.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { resolve } from 'node:path';

export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const dist = (name) => readFileSync(resolve(process.env.DIST ?? 'dist', name));
const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

export class Fixture {
  constructor(world, page = 'coordinator') {
    this.world = world;
    this.page = page;
    this.streams = new Set();
    this.sockets = new Set();
    this.denied = false;
    this.asked = [];
    /** Members by the revision that they were last changed in. */
    this.changed = new Map(world.members?.map((one, n) => [one.client, n + 1]));
    this.gone = [];
    this.began = Date.now();
  }

  async start(port = 0) {
    this.server = createServer((request, response) => this.answer(request, response));
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
    await new Promise((done) => this.server.listen(port, '127.0.0.1', done));
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}/`;
    this.beat = setInterval(() => this.push(), 1000);
    return this;
  }

  /** As a killed process: connections are cut, the port is closed. */
  async die() {
    clearInterval(this.beat);
    for (const socket of this.sockets) socket.destroy();
    this.streams.clear();
    await new Promise((done) => this.server.close(done));
  }

  come_back() {
    return this.start(this.port);
  }

  status() {
    return { ...this.world.status, now: this.world.status.now + (Date.now() - this.began) / 1000 };
  }

  push() {
    for (const stream of this.streams) stream.write(`event: status\ndata: ${JSON.stringify(this.status())}\n\n`);
  }

  /** Changes a member, or adds one, and tells everyone. */
  change(client, changes) {
    const { members, status } = this.world;
    status.revision++;
    const at = members.findIndex((one) => one.client === client);
    if (at < 0) {
      members.push({ client, connected: true, clusters: [], ...changes });
      status.members = members.length;
    } else if (changes.state === 'gone') this.gone.push([status.revision, members.splice(at, 1)[0]]);
    else Object.assign(members[at], changes);
    this.changed.set(client, status.revision);
    this.push();
  }

  answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, this.url);
    this.asked.push(request.url);
    const json = (value, code = 200) => {
      response.writeHead(code, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(JSON.stringify(value));
    };
    if (this.denied) return json({ error: 'who are you?' }, 401);
    const { world } = this;
    switch (pathname) {
      case '/': {
        const page = dist(`${this.page}.html`).toString();
        const tiles = world.members ? `<article class="tile"><h2>clients</h2><p class="figure">${world.status.connected} of ${world.status.members} here</p></article>` : '';
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY });
        const { federation = '', algorithm = '', sentence = '', health = '' } = world.status;
        const filled = { FEDERATION: escaped(federation), ALGORITHM: escaped(algorithm), SENTENCE: escaped(sentence), HEALTH: health, 'HEALTH-WORDS': health, TILES: tiles };
        return response.end(page.replace(/\{\{([A-Z-]+)\}\}/g, (_, name) => filled[name]));
      }
      case '/page.js':
      case '/page.css':
        response.writeHead(200, { 'content-type': pathname.endsWith('js') ? 'text/javascript; charset=utf-8' : 'text/css; charset=utf-8', 'x-content-type-options': 'nosniff' });
        return response.end(dist(pathname.slice(1)));
      case '/events':
        response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
        this.streams.add(response);
        request.on('close', () => this.streams.delete(response));
        return void response.write(`event: status\ndata: ${JSON.stringify(this.status())}\n\n`);
      case '/status':
        return json(world.members ? this.status() : world.status);
      case '/members': {
        const since = Number(searchParams.get('since') ?? 0);
        const members = world.members.filter((one) => this.changed.get(one.client) > since);
        const gone = this.gone.filter(([when]) => since > 0 && when > since).map(([, one]) => ({ ...one, state: 'gone' }));
        return json({ revision: world.status.revision, members: [...members, ...gone] });
      }
      case '/model':
        return json(world.model);
      case '/history':
        return json(world.history);
      case '/gain':
        return json(world.gain);
      case '/journal': {
        const client = searchParams.get('client');
        const events = world.journal.filter((one) => client === null || one.client === Number(client));
        return json({ events: events.slice(0, Number(searchParams.get('limit') ?? 200)) });
      }
      default:
        return json({ error: 'not found' }, 404);
    }
  }
}
