"""The manifests of examples/kubernetes/, and what their schemas say against a document."""

import pathlib
import re

import kubeflow.training.models
import kubernetes_validate
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "examples" / "kubernetes"
# The oldest that the manifests are for, and the newest that there is a schema of.
VERSIONS = ("1.31", kubernetes_validate.latest_version())
PLAIN = {"str": str, "int": int, "bool": bool, "float": float}


def load(name):
    """The documents of a file, by kind."""
    documents = list(yaml.safe_load_all((FOLDER / name).read_text()))
    by_kind = {document["kind"]: document for document in documents}
    assert len(by_kind) == len(documents), name
    return by_kind


def refusal(document, version=VERSIONS[-1]):
    """What the schema of its kind says against a document, "" for nothing. A key that the schema has not is refused."""
    try:
        if document["apiVersion"].startswith("kubeflow.org/"):
            _check(document, "KubeflowOrgV1PyTorchJob", version)
        else:
            kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return error.message
    except (ValueError, kubernetes_validate.SchemaNotFoundError) as error:
        return str(error)
    return ""


def _check(value, kind, version):
    """Raises ValueError unless the value is one of a class of Kubeflow's models, whose openapi_types name the
    classes of its parts; Kubernetes' own parts are checked by Kubernetes' schemas."""
    if inner := re.fullmatch(r"dict\(str, (\w+)\)|list\[(\w+)\]", kind):
        if not isinstance(value, dict if inner[1] else list):
            raise ValueError(f"{value!r} is not of the type {kind}")
        for part in value.values() if inner[1] else value:
            _check(part, inner[1] or inner[2], version)
    elif kind in PLAIN:
        if type(value) is not PLAIN[kind]:
            raise ValueError(f"{value!r} is not of the type {kind}")
    elif kind == "V1PodTemplateSpec":
        _check_pod(value.get("metadata", {}), value, version)
    elif kind == "V1ObjectMeta":
        _check_pod(value, {"spec": {"containers": [{"name": "any"}]}}, version)
    else:
        _check_model(value, getattr(kubeflow.training.models, kind), version)


def _check_pod(metadata, template, version):
    kubernetes_validate.validate({"apiVersion": "v1", "kind": "PodTemplate", "metadata": metadata,
                                  "template": template}, version, strict=True)


def _check_model(value, model, version):
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is not of the type {model.__name__}")
    attributes = {key: attribute for attribute, key in model.attribute_map.items()}
    if unknown := value.keys() - attributes.keys():
        raise ValueError(f"{model.__name__} has no {', '.join(sorted(unknown))}")
    model(**{attributes[key]: part for key, part in value.items()})  # Raises when a part is missing.
    for key, part in value.items():
        _check(part, model.openapi_types[attributes[key]], version)
