"""The manifests of examples/kubernetes/ and the Dockerfile: their schemas hold, and they agree with each other."""

import copy
import re
import unittest

import manifests

FILES = ("job.yaml", "pytorchjob.yaml")
DOCKERFILE = (manifests.ROOT / "Dockerfile").read_text()
PAGE = (manifests.ROOT / "docs" / "how-to" / "containers.md").read_text()
# Their keys are the user's own.
FREE = {"labels", "matchLabels", "selector", "limits", "requests"}


def misspelt(node, inside=""):
    """Copies of a document, in each of which one key is misspelt, and that key."""
    if isinstance(node, list):
        for i, part in enumerate(node):
            for other, key in misspelt(part, inside):
                yield node[:i] + [other] + node[i + 1:], key
    elif isinstance(node, dict):
        for key, part in node.items():
            if inside not in FREE and key not in ("kind", "apiVersion") and inside != "pytorchReplicaSpecs":
                yield {key + "s" if k == key else k: v for k, v in node.items()}, key
            for other, deeper in misspelt(part, key):
                yield {**node, key: other}, deeper


def pods_of(documents):
    """Each pod template, the spec of its job, and how many pods it makes."""
    if "Job" in documents:
        spec = documents["Job"]["spec"]
        return [(spec["template"], spec, spec["parallelism"])]
    spec = documents["PyTorchJob"]["spec"]
    return [(replica["template"], spec, replica["replicas"]) for replica in spec["pytorchReplicaSpecs"].values()]


def option(command, name):
    return next(word.partition("=")[2] for word in command if word.startswith(f"--{name}="))


class Schema(unittest.TestCase):
    def test_every_document_is_valid(self):
        for name in FILES:
            for kind, document in manifests.load(name).items():
                for version in manifests.VERSIONS:
                    with self.subTest(f"{name}: {kind} in {version}"):
                        self.assertEqual(manifests.refusal(document, version), "")

    def test_a_misspelt_key_is_refused_wherever_it_is(self):
        for name in FILES:
            for kind, document in manifests.load(name).items():
                for altered, key in misspelt(document):
                    with self.subTest(f"{name}: {kind}: {key}"):
                        self.assertNotEqual(manifests.refusal(altered), "")

    def test_a_value_of_another_type_is_refused(self):
        for name, kind, key, value in (("job.yaml", "Job", "completions", "two"),
                                       ("pytorchjob.yaml", "PyTorchJob", "nprocPerNode", 2)):
            document = copy.deepcopy(manifests.load(name)[kind])
            document["spec"][key] = value
            self.assertNotEqual(manifests.refusal(document), "", key)


class Agreement(unittest.TestCase):
    def test_the_pods_of_the_job_are_the_nodes_of_torchrun(self):
        documents = manifests.load("job.yaml")
        job, service = documents["Job"], documents["Service"]
        spec, pod = job["spec"], job["spec"]["template"]["spec"]
        command = pod["containers"][0]["command"]
        self.assertEqual(spec["completionMode"], "Indexed")
        self.assertEqual([spec["completions"], spec["parallelism"]], 2 * [int(option(command, "nnodes"))])
        self.assertEqual(pod["subdomain"], service["metadata"]["name"])
        self.assertEqual(service["spec"]["clusterIP"], "None")
        self.assertEqual(option(command, "master-addr"), f"{job['metadata']['name']}-0.{pod['subdomain']}")
        self.assertEqual({int(option(command, "master-port"))},
                         {service["spec"]["ports"][0]["port"], pod["containers"][0]["ports"][0]["containerPort"]})
        self.assertEqual(service["spec"]["selector"], spec["template"]["metadata"]["labels"])

    def test_the_operator_finds_what_it_looks_for(self):
        spec = manifests.load("pytorchjob.yaml")["PyTorchJob"]["spec"]
        self.assertEqual(spec["pytorchReplicaSpecs"]["Master"]["replicas"], 1)
        for template, _, _ in pods_of({"PyTorchJob": {"spec": spec}}):
            container = template["spec"]["containers"][0]
            self.assertEqual([container["name"], container["ports"][0]["name"]], ["pytorch", "pytorchjob-port"])

    def test_both_have_four_ranks(self):
        job, operator = (manifests.load(name) for name in FILES)
        command = pods_of(job)[0][0]["spec"]["containers"][0]["command"]
        self.assertEqual(pods_of(job)[0][2] * int(option(command, "nproc-per-node")), 4)
        pods = pods_of(operator)
        self.assertEqual(sum(count for _, _, count in pods) * int(pods[0][1]["nprocPerNode"]), 4)

    def test_only_the_pods_of_a_job_reach_it(self):
        for name in FILES:
            documents = manifests.load(name)
            policy = documents["NetworkPolicy"]["spec"]
            for template, _, _ in pods_of(documents):
                labels = {"matchLabels": template["metadata"]["labels"]}
                self.assertEqual(policy["podSelector"], labels, name)
                self.assertEqual(policy["ingress"], [{"from": [{"podSelector": labels}]}], name)

    def test_names_in_a_pod_are_those_of_others(self):
        secret = re.search(r"kubectl create secret generic (\S+) --from-literal=(\w+)=", PAGE)
        image = re.search(r"docker build -t (\S+)", PAGE)
        for name in FILES:
            comment = (manifests.FOLDER / name).read_text()
            self.assertIn(secret[0], comment, name)
            for template, _, _ in pods_of(manifests.load(name)):
                container = template["spec"]["containers"][0]
                self.assertEqual([container["image"]], list(image.groups()), name)
                self.assertEqual({volume["name"] for volume in template["spec"]["volumes"]},
                                 {mount["name"] for mount in container["volumeMounts"]}, name)
                tokens = [(key["name"], key["key"]) for variable in container["env"]
                          for key in [variable.get("valueFrom", {}).get("secretKeyRef")] if key]
                self.assertEqual(tokens, [secret.groups()], name)
                for text in (comment, PAGE):
                    label, value = re.search(r"kubectl logs .*-l (\w+)=(\S+)", text).groups()
                    self.assertEqual(template["metadata"]["labels"][label], value, name)

    def test_shared_memory_is_a_part_of_the_memory(self):
        for name in FILES:
            for template, _, _ in pods_of(manifests.load(name)):
                limits = template["spec"]["containers"][0]["resources"]["limits"]
                shared = template["spec"]["volumes"][0]["emptyDir"]
                self.assertEqual([limits.keys(), shared["medium"]], [{"memory"}, "Memory"], name)
                self.assertLess(int(shared["sizeLimit"].removesuffix("Gi")), int(limits["memory"].removesuffix("Gi")))

    def test_the_image_has_what_the_pods_ask_for(self):
        user = int(re.search(r"^USER (\d+)$", DOCKERFILE, re.M)[1])
        self.assertIn(f"--uid {user} ", DOCKERFILE)
        folders = re.findall(r"^COPY (examples\S*) \1$", DOCKERFILE, re.M)
        for name in FILES:
            for template, _, _ in pods_of(manifests.load(name)):
                self.assertEqual(template["spec"]["securityContext"]["runAsUser"], user, name)
                program = next(word for word in template["spec"]["containers"][0]["command"] if word.endswith(".py"))
                self.assertTrue((manifests.ROOT / program).is_file(), program)
                self.assertTrue(any(program.startswith(folder + "/") for folder in folders), program)

    def test_the_image_has_the_tested_versions(self):
        tested = (manifests.ROOT / "scripts" / "requirements-test.txt").read_text().splitlines()
        for package in re.findall(r"\b(?:torch|numpy|scikit-learn)==[\w.]+", DOCKERFILE):
            self.assertIn(package, tested)

    def test_what_the_image_is_built_from_is_there(self):
        ignored = (manifests.ROOT / ".dockerignore").read_text().splitlines()
        for source in re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.M):
            self.assertTrue((manifests.ROOT / source).exists(), source)
            self.assertNotIn(source, ignored)


if __name__ == "__main__":
    unittest.main()
