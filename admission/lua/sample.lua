-- SPDX-FileCopyrightText: The Keelson Authors
-- SPDX-License-Identifier: Apache-2.0
-- Two policies of the kind that most clusters have. See keelson-admission-lua(7).

policy {
	name = "image-has-a-version",
	match = {
		operations = { "CREATE", "UPDATE" },
		groups = { "" },
		resources = { "pods" },
		exceptNamespaces = { "kube-system" },
	},
	validate = function(object)
		for _, container in ipairs(object.spec.containers) do
			local image = container.image or ""
			if image:endswith(":latest") or not image:matches("[:@][^/]+$") then
				deny("container " .. container.name .. ": image " .. image .. " has no version")
			end
		end
	end,
}

policy {
	name = "few-replicas",
	match = { operations = { "CREATE", "UPDATE" }, groups = { "apps" }, resources = { "deployments" } },
	failurePolicy = "Ignore",
	validate = function(object, old, request)
		if (object.spec.replicas or 1) > 100 then
			warn("more than 100 replicas in namespace " .. request.namespace)
		end
	end,
}
