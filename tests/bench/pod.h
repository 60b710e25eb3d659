/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A Pod of about 3 KiB, as benchmarks read and write it. */
#ifndef KS_TESTS_BENCH_POD_H
#define KS_TESTS_BENCH_POD_H

static const char ks_bench_pod[] =
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

#endif
