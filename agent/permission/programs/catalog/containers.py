"""Containers, clusters and virtual machines."""

from agent.permission.programs.record import Command, Option, Program

_KUBERNETES_OPTIONS = (
    Option(
        "-n --namespace --context --cluster --user --kubeconfig -s --server "
        "--as --as-group --token --request-timeout --certificate-authority "
        "--client-key --client-certificate -f --filename -o --output -l "
        "--selector",
        effect="unknown",
        value="text",
    ),
)
_HASHICORP_OPTIONS = (
    Option(
        "-s --server --token --api-key -address -namespace -ca-cert -region -http-addr -token",
        effect="unknown",
        value="text",
    ),
)
_LOCAL_CLUSTER_OPTIONS = (
    Option("-p --profile --name --kubeconfig -c --cluster", effect="unknown", value="text"),
)
_CONTAINER_OPTIONS = (
    Option(
        "-H --host -c --context --config -l --log-level --tlscacert --tlscert "
        "--tlskey --url --connection --identity --root --runroot "
        "--storage-driver -f --file -p --project-name --profile --env-file "
        "--project-directory --progress --parallel --ansi -n --namespace",
        effect="unknown",
        value="text",
    ),
)

PROGRAMS = (
    Program(
        "argocd", always=2, options=_KUBERNETES_OPTIONS, groups="account app cert cluster proj repo"
    ),
    Program("buildah packer skaffold skopeo", always=2),
    Program("consul", always=2, options=_HASHICORP_OPTIONS, groups="acl kv"),
    Program("distrobox lxc-attach systemd-nspawn toolbox", elsewhere="command", runs_input="shell"),
    Program(
        "docker",
        always=2,
        destructive_words="delete destroy rm prune down",
        elsewhere="container",
        unrated="-c -l --log-level --tlscacert --tlscert --tlskey --url --connection --identity "
        "--root --runroot --storage-driver -f --file -p --project-name --profile --env-file "
        "--project-directory --progress --parallel --ansi -n --namespace",
        executes="--config",
        options=(Option("-H --host --context", effect="network", value="text"),),
        groups="builder compose container context image manifest network plugin secret service "
        "stack swarm system volume",
        subcommands=(
            Command("buildx", always=3, groups="imagetools"),
            Command("trust", always=3, groups="key signer"),
        ),
    ),
    Program("flux istioctl k9s kustomize", always=2, options=_KUBERNETES_OPTIONS),
    Program(
        "helm",
        network="*",
        always=2,
        destructive_words="delete destroy rm prune down",
        unrated="-n --namespace --kube-context --registry-config --repository-cache "
        "--repository-config",
        executes="--kubeconfig",
        may_execute="--post-renderer",
        options=(Option("--kube-token --kube-apiserver", effect="network", value="text"),),
        groups="dependency get plugin registry repo show",
    ),
    Program("incus lxc", elsewhere="command"),
    Program("k3d", always=2, options=_LOCAL_CLUSTER_OPTIONS),
    Program("kind", always=2, options=_LOCAL_CLUSTER_OPTIONS, groups="create delete get"),
    Program(
        "kubectl",
        network="*",
        always=2,
        destructive_words="delete destroy rm prune down",
        elsewhere="container",
        unrated="-n --namespace --context --cluster --user -s --as-group --request-timeout "
        "--certificate-authority --client-key --client-certificate -f --filename -o --output -l "
        "--selector",
        executes="--kubeconfig",
        options=(Option("--server --as --token", effect="network", value="text"),),
        groups="apply auth certificate config create delete describe get rollout set top",
    ),
    Program("machinectl", elsewhere="command", runs_input="shell", code_options="-c"),
    Program("minikube", always=2, options=_LOCAL_CLUSTER_OPTIONS, groups="addons config image"),
    Program(
        "nerdctl",
        always=2,
        elsewhere="container",
        options=_CONTAINER_OPTIONS,
        groups="compose container image network volume",
    ),
    Program(
        "nomad",
        always=2,
        options=_HASHICORP_OPTIONS,
        groups="acl alloc deployment job namespace node operator var volume",
    ),
    Program(
        "oc",
        always=2,
        elsewhere="container",
        options=_KUBERNETES_OPTIONS,
        groups="adm auth describe get",
    ),
    Program(
        "podman",
        always=2,
        destructive_words="delete destroy rm prune down",
        elsewhere="container",
        options=_CONTAINER_OPTIONS,
        groups="compose container generate image machine network pod secret system volume",
    ),
    Program("vagrant", always=2, elsewhere="command", code_options="-c"),
    Program("vault", always=2, options=_HASHICORP_OPTIONS, groups="auth kv policy secrets token"),
)
