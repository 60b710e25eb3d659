// SPDX-FileCopyrightText: The Keelson Authors
// SPDX-License-Identifier: Apache-2.0
// An operator on @kubernetes/client-node that "runs" jobs: an informer feeds it, it patches their status, and keeps what
// came out in ConfigMaps that it applies on the server. node-operator restarts and kills the server meanwhile.
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { readFileSync } from 'node:fs';

const folder = `${process.env.KS_TOOLS}/node_modules/@kubernetes/client-node`;
const about = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
const entry = about.exports?.['.']?.import?.default ?? about.exports?.['.']?.import ?? about.exports?.['.']?.default ?? about.main;
const k8s = await import(pathToFileURL(`${folder}/${typeof entry === 'string' ? entry : about.main}`));

const namespace = 'work';
const manager = 'job-runner';
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
  while (!(await what())) {
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
const batch = config.makeApiClient(k8s.BatchV1Api);
const how = (strategy) => k8s.setHeaderOptions('Content-Type', strategy);

class Runner {
  constructor() {
    this.pending = new Map();
    this.errors = {};
    this.restarts = 0;
    this.informer = k8s.makeInformer(config, `/apis/batch/v1/namespaces/${namespace}/jobs`, () => batch.listNamespacedJob({ namespace }));
    for (const event of ['add', 'update']) this.informer.on(event, (job) => this.enqueue(job.metadata.name));
    this.informer.on('error', () => {
      this.restarts++;
      setTimeout(() => this.informer.start().catch(() => {}), 50);
    });
  }

  // One at a time for each job; what comes meanwhile is done afterwards.
  enqueue(name) {
    if (this.pending.has(name)) {
      this.pending.set(name, true);
      return;
    }
    this.pending.set(name, false);
    this.work(name);
  }

  async work(name) {
    for (;;) {
      this.pending.set(name, false);
      try {
        await this.reconcile(name);
        if (!this.pending.get(name)) break;
      } catch (error) {
        const code = error?.code ?? 'broken';
        this.errors[code] ??= error?.body ?? String(error);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    this.pending.delete(name);
  }

  async reconcile(name) {
    const job = await batch.readNamespacedJob({ namespace, name }).catch((error) => {
      if (error.code === 404) return null;
      throw error;
    });
    if (!job || job.metadata.deletionTimestamp || job.status?.completionTime || job.spec.suspend) return;
    const now = new Date();
    if (!job.status?.startTime) {
      await this.status(name, { startTime: now, active: 1, ready: 1 }, k8s.PatchStrategy.MergePatch);
      return;
    }
    await this.result(job);
    const condition = (type, reason) => ({ type, status: 'True', reason, lastProbeTime: now, lastTransitionTime: now, message: 'done' });
    await this.status(name, { active: 0, ready: 0, terminating: 0, succeeded: job.spec.completions ?? 1, completionTime: now, uncountedTerminatedPods: {},
      conditions: [condition('SuccessCriteriaMet', 'CompletionsReached'), condition('Complete', 'CompletionsReached')] }, k8s.PatchStrategy.StrategicMergePatch);
    await this.event(job);
  }

  status(name, status, strategy) {
    return batch.patchNamespacedJobStatus({ namespace, name, body: { status } }, how(strategy));
  }

  result(job) {
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: job.metadata.name, uid: job.metadata.uid, controller: true, blockOwnerDeletion: true };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `result-${job.metadata.name}`, ownerReferences: [owner] }, data: { result: 'done' } };
    return core.patchNamespacedConfigMap({ namespace, name: body.metadata.name, body, fieldManager: manager, force: true }, how(k8s.PatchStrategy.ServerSideApply));
  }

  event(job) {
    const now = new Date();
    return core.createNamespacedEvent({ namespace, body: {
      metadata: { generateName: `${job.metadata.name}.` }, reason: 'Completed', type: 'Normal', message: 'done', firstTimestamp: now, lastTimestamp: now, count: 1,
      involvedObject: { apiVersion: 'batch/v1', kind: 'Job', namespace, name: job.metadata.name, uid: job.metadata.uid }, source: { component: manager } } });
  }
}

const job = (name, more = {}) => ({ metadata: { name }, spec: { ...more, template: { spec: {
  restartPolicy: 'Never', containers: [{ name: 'c', image: 'registry.example/c' }] } } } });
const get = (name) => batch.readNamespacedJob({ namespace, name });
const complete = (name) => get(name).then((found) => found.status?.conditions?.some((c) => c.type === 'Complete' && c.status === 'True') ?? false, () => false);

await core.createNamespace({ body: { metadata: { name: namespace } } });
const runner = new Runner();
await batch.createNamespacedJob({ namespace, body: job('before') });
await runner.informer.start();
await check('a job that was there is run', () => eventually(() => complete('before')));
await check('so is one that comes', async () => {
  await batch.createNamespacedJob({ namespace, body: job('first') });
  await eventually(() => complete('first'));
});
await check('its status is whole', async () => {
  const { status } = await get('first');
  same([status.succeeded, status.active ?? 0, status.conditions.length, !!status.startTime], [1, 0, 2, true]);
});
await check('what came out is applied by the operator', async () => {
  const { metadata, data } = await core.readNamespacedConfigMap({ namespace, name: 'result-first' });
  same([data, metadata.ownerReferences[0].name], [{ result: 'done' }, 'first']);
  same(metadata.managedFields.map((m) => [m.manager, m.operation]), [[manager, 'Apply']]);
});
await check('what another one adds is left alone', async () => {
  await core.patchNamespacedConfigMap({ namespace, name: 'result-first', body: { data: { note: 'mine' } } }, how(k8s.PatchStrategy.MergePatch));
  await runner.result(await get('first'));
  same((await core.readNamespacedConfigMap({ namespace, name: 'result-first' })).data, { note: 'mine', result: 'done' });
});
await check('a suspended one waits', async () => {
  await batch.createNamespacedJob({ namespace, body: job('asleep', { suspend: true }) });
  await batch.createNamespacedJob({ namespace, body: job('awake') });
  await eventually(() => complete('awake'));
  same((await get('asleep')).status?.startTime ?? null, null);
  await batch.patchNamespacedJob({ namespace, name: 'asleep', body: [{ op: 'replace', path: '/spec/suspend', value: false }] }, how(k8s.PatchStrategy.JsonPatch));
  await eventually(() => complete('asleep'));
});
for (const end of ['restart', 'kill']) {
  await check(`jobs go on over the server's ${end}`, async () => {
    const names = Array.from({ length: 12 }, (_, i) => `${end}-${i}`);
    const made = Promise.all(names.map(async (name) => {
      for (let i = 0; ; i++) {
        try {
          return await batch.createNamespacedJob({ namespace, body: job(name) });
        } catch (error) {
          if (error.code === 409) return null; // it was stored, and the answer was lost
          if (i > 100) throw error;
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }
    }));
    await please(end);
    await made;
    for (const name of names) await eventually(() => complete(name));
    const results = (await core.listNamespacedConfigMap({ namespace })).items.filter((c) => c.metadata.name.startsWith(`result-${end}-`));
    same(results.length, names.length);
  });
}
await check('events were written', async () => {
  const { items } = await core.listNamespacedEvent({ namespace, fieldSelector: 'reason=Completed,involvedObject.name=first' });
  same(items.length, 1);
});
await check('nothing was refused', () => {
  const refused = Object.entries(runner.errors).filter(([code]) => /^\d+$/.test(code) && code !== '409');
  same(refused, []);
});
await runner.informer.stop();
process.exit(failed ? 1 : 0);
