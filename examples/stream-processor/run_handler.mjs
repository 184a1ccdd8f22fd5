// Runs a JavaScript Lambda handler as a command: the event on standard input, the answer on
// standard output. What the handler logs goes to standard error, and from there to the server's log.
//
//   node run_handler.mjs handler.mjs exportName

import { Console } from 'node:console';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

globalThis.console = new Console(process.stderr, process.stderr);

const [file, name = 'handler'] = process.argv.slice(2);
const timeout = Number(process.env.TIMEOUT_MILLISECONDS ?? 60_000);
const deadline = Date.now() + timeout;

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const event = JSON.parse(Buffer.concat(chunks).toString());

const context = {
  awsRequestId: process.env.AWS_REQUEST_ID,
  functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
  functionVersion: '$LATEST',
  getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
};

const module = await import(pathToFileURL(resolve(file)).href);
const answer = await module[name](event, context);
process.stdout.write(JSON.stringify(answer ?? null));
