// SPDX-FileCopyrightText: The Keelson Authors
// SPDX-License-Identifier: Apache-2.0
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { readFileSync } from 'node:fs';

const folder = `${process.env.KS_TOOLS}/node_modules/@kubernetes/client-node`;
const about = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
const entry = about.exports?.['.']?.import?.default ?? about.exports?.['.']?.import ?? about.exports?.['.']?.default ?? about.main;
const k8s = await import(pathToFileURL(`${folder}/${typeof entry === 'string' ? entry : about.main}`));

let failed = 0;

function report(ok, name, why) {
  console.log(`${ok ? 'ok' : 'not ok'} ${name}`);
  if (!ok) {
    failed++;
    console.log(`  ${why}`);
  }
}

async function check(name, work) {
  try {
    await work();
    report(true, name);
  } catch (error) {
    report(false, name, error?.body ? `${error.code}: ${JSON.stringify(error.body)}` : error?.stack ?? error);
  }
}

async function eventually(what, milliseconds = 20000) {
  const end = Date.now() + milliseconds;
  while (!what()) {
    if (Date.now() > end) throw new Error(`not within ${milliseconds} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function same(got, want) {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${JSON.stringify(got)} instead of ${JSON.stringify(want)}`);
}

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function please(what) {
  console.log(`please ${what}`);
  await answers.next();
}

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);
const namespace = 'node';
const configMap = (name, data) => ({ metadata: { name, labels: { from: 'node' } }, data });

await check('create a namespace', () => core.createNamespace({ body: { metadata: { name: namespace } } }));
await check('create and read', async () => {
  await core.createNamespacedConfigMap({ namespace, body: configMap('first', { a: '1' }) });
  same((await core.readNamespacedConfigMap({ namespace, name: 'first' })).data, { a: '1' });
});
await check('a conflict is a 409', async () => {
  const body = await core.readNamespacedConfigMap({ namespace, name: 'first' });
  await core.replaceNamespacedConfigMap({ namespace, name: 'first', body: { ...body, data: { a: '2' } } });
  const code = await core.replaceNamespacedConfigMap({ namespace, name: 'first', body }).then(() => 200, (error) => error.code);
  same(code, 409);
});
await check('objects of any kind', async () => {
  const spec = { kind: 'Deployment', apiVersion: 'apps/v1', metadata: { name: 'any', namespace }, spec: {
    selector: { matchLabels: { app: 'any' } },
    template: { metadata: { labels: { app: 'any' } }, spec: { containers: [{ name: 'c', image: 'registry.example/c' }] } } } };
  await objects.create(spec);
  same((await apps.readNamespacedDeployment({ namespace, name: 'any' })).spec.replicas, 1);
  await objects.delete(spec);
});
await check('pages of a list', async () => {
  for (let i = 0; i < 25; i++) await core.createNamespacedSecret({ namespace, body: { metadata: { name: `s${i}` } } });
  let seen = 0;
  let _continue;
  do {
    const page = await core.listNamespacedSecret({ namespace, limit: 10, _continue });
    seen += page.items.length;
    _continue = page.metadata._continue;
  } while (_continue);
  same(seen, 25);
});

// -- an informer, over restarts -----------------------------------------------------------------------------------
const known = new Map();
const seen = [];
const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () => core.listNamespacedConfigMap({ namespace }), 'from=node');
for (const event of ['add', 'update', 'delete']) {
  informer.on(event, (object) => {
    seen.push(`${event} ${object.metadata.name}`);
    if (event === 'delete') known.delete(object.metadata.name);
    else known.set(object.metadata.name, object.data?.a);
  });
}
informer.on('error', () => setTimeout(() => informer.start().catch(() => {}), 100));
const retry = async (work) => {
  for (let i = 0; ; i++) {
    try {
      return await work();
    } catch (error) {
      if (i > 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
};

await informer.start();
await check('informer: what is there', () => eventually(() => known.get('first') === '2'));
await check('informer: add, update, delete', async () => {
  await core.createNamespacedConfigMap({ namespace, body: configMap('second', { a: '1' }) });
  await eventually(() => known.get('second') === '1');
  await core.patchNamespacedConfigMap({ namespace, name: 'second', body: { data: { a: '9' } } },
    k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch));
  await eventually(() => known.get('second') === '9');
  await core.deleteNamespacedConfigMap({ namespace, name: 'second' });
  await eventually(() => !known.has('second'));
});
for (const how of ['restart', 'kill']) {
  await check(`informer: after the server's ${how}`, async () => {
    await please(how);
    await retry(() => core.createNamespacedConfigMap({ namespace, body: configMap(`after-${how}`, { a: how }) }));
    await eventually(() => known.get(`after-${how}`) === how);
    same(known.get('first'), '2');
  });
}
await informer.stop();
process.exit(failed ? 1 : 0);
