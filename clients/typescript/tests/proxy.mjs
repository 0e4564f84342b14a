// A line to a client that swallows replies: the request arrives and is dealt with, and nobody hears of it.
import { createServer, request as ask } from 'node:http';

/** Runs `look` with an address that leads to `url`. `line.swallows(path)` says what becomes of a reply: 'cut' closes the
 * connection, 'hang' leaves the caller waiting, anything else passes it on. */
export async function through(url, look) {
  const line = { swallows: () => undefined, passed: [], swallowed: [] };
  const server = createServer((request, response) => {
    const there = ask(url + request.url, { method: request.method, headers: request.headers }, (reply) => {
      let body = '';
      reply.on('data', (data) => (body += data));
      reply.on('end', () => {
        const said = { path: request.url, status: reply.statusCode, body: JSON.parse(body) };
        const fate = line.swallows(request.url);
        (fate ? line.swallowed : line.passed).push(said);
        if (fate === 'cut') return response.socket?.destroy();
        if (fate === 'hang') return;
        response.writeHead(reply.statusCode, reply.headers);
        response.end(body);
      });
    });
    // Nobody is there: nobody answers here either.
    there.on('error', () => response.socket?.destroy());
    request.pipe(there);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  try {
    await look(`http://127.0.0.1:${server.address().port}`, line);
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}

/** Swallows every other reply, by turns of both kinds. */
export function every_other() {
  let n = 0;
  return () => (n++ % 2 ? undefined : n % 4 === 1 ? 'cut' : 'hang');
}
