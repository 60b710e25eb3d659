/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Microseconds that a Pod of about 3 KiB costs to decode and to encode, beside json-c's parser. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/api/json.h"

static const char pod[] =
	"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web-7c5ddbdf54-x8f2k\",\"generateName\":\"web-7c5ddbdf54-\",\"namespace\":"
	"\"shop\","
	"\"uid\":\"5f0c7e1b-1f1d-4f5e-9a55-3c1d3a1c0b7e\",\"resourceVersion\":\"123456\",\"generation\":1,\"creationTimestamp\":\"2026-01-02T03:04:"
	"05Z\","
	"\"labels\":{\"app.kubernetes.io/instance\":\"shop\",\"app.kubernetes.io/name\":\"web\",\"pod-template-hash\":\"7c5ddbdf54\"},"
	"\"annotations\":{\"checksum/config\":\"9b0d6a1e8f3c2b7d5e4f\",\"prometheus.io/scrape\":\"true\"},"
	"\"ownerReferences\":[{\"apiVersion\":\"apps/"
	"v1\",\"kind\":\"ReplicaSet\",\"name\":\"web-7c5ddbdf54\",\"uid\":\"0a1b2c3d-1f1d-4f5e-9a55-3c1d3a1c0b7e\","
	"\"controller\":true,\"blockOwnerDeletion\":true}]},"
	"\"spec\":{\"volumes\":[{\"name\":\"config\",\"configMap\":{\"name\":\"web-config\",\"defaultMode\":420}},"
	"{\"name\":\"kube-api-access-w9zqk\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}},"
	"{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}},"
	"{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\",\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}]}}],"
	"\"defaultMode\":420}}],"
	"\"containers\":[{\"name\":\"web\",\"image\":\"registry.example.net/shop/web:2.4.1\",\"args\":[\"--listen=:8080\",\"--log-level=info\"],"
	"\"ports\":[{\"name\":\"http\",\"containerPort\":8080,\"protocol\":\"TCP\"}],"
	"\"env\":[{\"name\":\"DATABASE_URL\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"web\",\"key\":\"url\"}}},{\"name\":\"MODE\",\"value\":"
	"\"production\"}],"
	"\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"256Mi\"},\"requests\":{\"cpu\":\"100m\",\"memory\":\"128Mi\"}},"
	"\"volumeMounts\":[{\"name\":\"config\",\"mountPath\":\"/etc/web\"},{\"name\":\"kube-api-access-w9zqk\",\"readOnly\":true,"
	"\"mountPath\":\"/var/run/secrets/kubernetes.io/serviceaccount\"}],"
	"\"livenessProbe\":{\"httpGet\":{\"path\":\"/healthz\",\"port\":\"http\",\"scheme\":\"HTTP\"},\"timeoutSeconds\":1,\"periodSeconds\":10,"
	"\"successThreshold\":1,\"failureThreshold\":3},\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\","
	"\"imagePullPolicy\":\"IfNotPresent\",\"securityContext\":{\"capabilities\":{\"drop\":[\"ALL\"]},\"runAsNonRoot\":true,"
	"\"allowPrivilegeEscalation\":false}}],\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\","
	"\"serviceAccountName\":\"default\",\"serviceAccount\":\"default\",\"nodeName\":\"node-3\",\"securityContext\":{},\"schedulerName\":"
	"\"default-scheduler\","
	"\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300},"
	"{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}],"
	"\"priority\":0,\"enableServiceLinks\":true,\"preemptionPolicy\":\"PreemptLowerPriority\"},"
	"\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastProbeTime\":null,"
	"\"lastTransitionTime\":\"2026-01-02T03:04:15Z\"},{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastProbeTime\":null,"
	"\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"}],\"hostIP\":\"192.0.2.3\",\"podIP\":\"198.51.100.7\",\"startTime\":\"2026-01-02T03:04:"
	"05Z\","
	"\"qosClass\":\"Burstable\"}}";

enum { ROUNDS = 20000 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int decode(struct ks_arena *arena, uint16_t type, struct ks_value *v)
{
	struct ks_strict_errors strict = {0};
	const char *message;

	return ks_json_decode(arena, &ks_schema_builtin, type, KS_DECODE_BORROW | KS_DECODE_STRICT, pod, sizeof(pod) - 1, v, &strict, &message);
}

static double time_decoder(uint16_t type)
{
	struct ks_arena arena;
	struct ks_value v;
	double start;

	ks_arena_init(&arena, 0);
	start = now();
	for (int i = 0; i < ROUNDS; i++) {
		ks_arena_reset(&arena);
		if (decode(&arena, type, &v) < 0)
			return -1;
	}
	start = now() - start;
	ks_arena_fini(&arena);
	return start / ROUNDS;
}

static double time_encoder(uint16_t type)
{
	struct ks_arena arena;
	struct ks_value v;
	struct ks_buf out;
	double start = -1;

	ks_arena_init(&arena, 0);
	ks_buf_init(&out);
	if (decode(&arena, type, &v) == 0) {
		start = now();
		for (int i = 0; i < ROUNDS; i++) {
			ks_buf_clear(&out);
			ks_json_encode(&ks_schema_builtin, &v, &out);
		}
		start = now() - start;
	}
	ks_buf_fini(&out);
	ks_arena_fini(&arena);
	return start / ROUNDS;
}

static double time_json_c(void)
{
	struct json_tokener *tokener = json_tokener_new();
	double start = now();

	for (int i = 0; i < ROUNDS / 10; i++) {
		json_tokener_reset(tokener);
		json_object_put(json_tokener_parse_ex(tokener, pod, sizeof(pod) - 1));
	}
	start = now() - start;
	json_tokener_free(tokener);
	return start / (ROUNDS / 10);
}

int main(void)
{
	uint16_t type = ks_schema_find_type(&ks_schema_builtin, "io.k8s.api.core.v1.Pod");
	double typed = time_decoder(type), free_form = time_decoder(0), encoded = time_encoder(type), other = time_json_c();

	printf("pod of %zu bytes: decode %.2f us, decode free form %.2f us, encode %.2f us, json-c parse %.2f us (%.1f times the decoder)\n",
		sizeof(pod) - 1, typed, free_form, encoded, other, other / typed);
	return 0;
}
