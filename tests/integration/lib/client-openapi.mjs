// SPDX-FileCopyrightText: The Keelson Authors
// SPDX-License-Identifier: Apache-2.0
// Checks OpenAPI documents: client-openapi.mjs FILE... A file is valid by the rules of its version of OpenAPI, and its
// operations have ids of their own and declare what stands in braces in their paths.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';

const require = createRequire(`${process.env.KS_TOOLS}/`);
const parser = require('@apidevtools/swagger-parser');
const validate = (parser.default ?? parser).validate.bind(parser.default ?? parser);
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];

function checkOperations(document) {
  const meant = (p) => (p.$ref ? document.parameters[p.$ref.split('/').pop()] : p);
  const ids = new Set();
  for (const [path, item] of Object.entries(document.paths)) {
    const wanted = [...path.matchAll(/{([^}]+)}/g)].map((match) => match[1]).sort().join();
    for (const method of methods.filter((name) => item[name])) {
      const operation = item[method];
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(meant);
      const declared = parameters.filter((p) => p.in === 'path').map((p) => p.name);
      if (declared.sort().join() !== wanted) throw new Error(`${method} ${path} declares ${declared}`);
      if (operation.operationId && ids.has(operation.operationId)) throw new Error(`${operation.operationId} twice`);
      ids.add(operation.operationId);
    }
  }
}

let failed = 0;
for (const file of process.argv.slice(2)) {
  const name = basename(file, '.json').replaceAll('__', '/');
  try {
    const document = JSON.parse(readFileSync(file, 'utf8'));
    checkOperations(document);
    await validate(document, { dereference: { circular: true } });
    console.log(`ok ${name} is a valid document`);
  } catch (error) {
    failed++;
    console.log(`not ok ${name} is a valid document`);
    console.log(String(error?.stack ?? error).split('\n').slice(0, 20).map((line) => `  ${line}`).join('\n'));
  }
}
process.exit(failed ? 1 : 0);
