/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Requests for certificates, and certificates, in DER. */
#ifndef KS_REGISTRY_VALIDATE_X509_H
#define KS_REGISTRY_VALIDATE_X509_H

#include "core/api/validate.h"

/* What is wrong with a request, in upstream's words as far as the outermost sequence goes; NULL when it is whole and signed by its own key. */
const char *ks_x509_wrong_request(struct ks_check *c, struct ks_str der);
/* One certificate or more, one behind the other. */
const char *ks_x509_wrong_certificates(struct ks_str der);

#endif
