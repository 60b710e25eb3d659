/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

#include <stdio.h>

extern const struct ks_plugin ks_plugin_certificatesubjectrestriction;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_certificatesubjectrestriction, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

/* Requests of an organization "x" and one more, with a key that nobody has. */
static const char masters[] =
	"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIdE1JR1RBZ0VBTURFeENqQUlCZ05WQkFvTUFYZ3hGekFWQmdOVkJBb01Ebk41YzNSbGJU"
	"cHRZWE4wWlhKegpNUW93Q0FZRFZRUUREQUYxTUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFdjVrY21MWWNZbFFmCmZGczI0d1lIMU00cmxh"
	"d3o5VEhYRitaMVdiZi8zZ3RRSlRlOW5ZV0ZPNWZtS1h5SmRxNXRSUmFwS0VmWHBjdzQKT25DV1Z2dDZSYUFBTUFvR0NDcUdTTTQ5QkFNQ0Ewa0FNRVlDSVFE"
	"bU5NUnYxZ2drOUQ5bUdCMXM5cEdlbDhsRgp5SDFkV0pXQXdBMm9VWXlBL3dJaEFPQWtvQWlMNlprdVpJa2oyOW9hamg1cUErWWJKUXpQM0I0VDhPM1ZVcnVi"
	"Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";
static const char developers[] =
	"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIcE1JR1BBZ0VBTUMweENqQUlCZ05WQkFvTUFYZ3hFekFSQmdOVkJBb01DbVJsZG1Wc2Iz"
	"Qmxjbk14Q2pBSQpCZ05WQkFNTUFYVXdXVEFUQmdjcWhrak9QUUlCQmdncWhrak9QUU1CQndOQ0FBUisvMndKV0k1SXJTcStOdno5CmtEajNFNUg4bERnYTI1"
	"VjBVZSs4QnVIck51ZXAwbU1wbDQ5SlRndW5mNVZSOC9sUzJqL2FGNVRlUVF1TGJpOXUKeTQrTW9BQXdDZ1lJS29aSXpqMEVBd0lEU1FBd1JnSWhBTXl3dTFk"
	"dndxMnQzTTUwK2dHcUY5N0VwTUlNSFMxcwo4V2pWQk5IMENCYVJBaUVBODk1UXJPQ29XTVRuV3I5c0R3VDhFRkZYbmxSSThoSy9uV2wxaU9paWhLST0KLS0t"
	"LS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
static const char *ask(struct admission_fixture *f, const char *signer, const char *request)
{
	char json[4096];

	snprintf(json, sizeof(json), "{\"spec\":{\"signerName\":\"%s\",\"request\":\"%s\"}}", signer, request);
	return admission_validate(f, (struct admission_question){"certificates.k8s.io/certificatesigningrequests", json, NULL, ""});
}

#define SIGNER "kubernetes.io/kube-apiserver-client"

static void nobody_becomes_a_master(void **state)
{
	assert_string_equal(ask(*state, SIGNER, masters), "use of " SIGNER " signer with system:masters group is not allowed");
}

static void others_may_ask(void **state)
{
	assert_string_equal(ask(*state, SIGNER, developers), "");
}

static void other_signers_judge_themselves(void **state)
{
	assert_string_equal(ask(*state, "example.com/signer", masters), "");
}

static void what_is_no_request_is_refused(void **state)
{
	assert_has(ask(*state, SIGNER, "bm9uc2Vuc2U="), "failed to parse CSR: ");
	assert_has(ask(*state, SIGNER, "%%%"), "failed to parse CSR: ");
	assert_has(ask(*state, SIGNER, ""), "failed to parse CSR: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nobody_becomes_a_master, setup, teardown),
		cmocka_unit_test_setup_teardown(others_may_ask, setup, teardown),
		cmocka_unit_test_setup_teardown(other_signers_judge_themselves, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_request_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
