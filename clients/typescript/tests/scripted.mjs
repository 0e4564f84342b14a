// A server that does what a script says, request by request, and remembers what it was asked.
import { createServer } from 'node:http';

/** Closes the connection without a word. */
export const cut = (_, response) => response.socket.destroy();
/** Never answers. */
export const swallow = () => {};
export const say = (status, body, headers = {}) => (_, response) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
};

/** Runs `look` beside a server whose n-th answer is `script[n]`; the last one is given ever after. */
export async function scripted(script, look) {
  const asked = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (data) => (body += data));
    request.on('end', () => {
      const { method, url, headers } = request;
      asked.push({ method, url, headers, body: body && JSON.parse(body) });
      script[Math.min(asked.length, script.length) - 1](request, response);
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  try {
    await look(`http://127.0.0.1:${server.address().port}`, asked);
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}
