/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Which Kubernetes this is compatible with; what stands behind the plus sign is our own. */
#ifndef KS_PIPELINE_VERSION_H
#define KS_PIPELINE_VERSION_H

#define KS_KUBERNETES_RELEASE "v1.36.3"
#define KS_KUBERNETES_VERSION KS_KUBERNETES_RELEASE "+keelson." KS_VERSION

#endif
