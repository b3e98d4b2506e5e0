// A server of the bench's section `defaults`: node's http module with one short answer for every
// path but /counts, where it says how many connections and requests it has had.
'use strict';

const http = require('node:http');

const BODY = 'Hello, World!\n';
let accepted = 0;
let requests = 0;

const server = http.createServer((request, response) => {
  if (request.url === '/counts') {
    response.end(JSON.stringify({ accepted, requests }));
    return;
  }
  requests += 1;
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': BODY.length });
  response.end(BODY);
});

server.on('connection', () => {
  accepted += 1;
});

server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/`);
});
