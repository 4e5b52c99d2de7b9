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
        "argocd",
        always=2,
        options=_KUBERNETES_OPTIONS,
        subcommands=(Command("account app cert cluster proj repo", always=3),),
    ),
    Program("buildah packer skaffold skopeo", always=2),
    Program(
        "consul", always=2, options=_HASHICORP_OPTIONS, subcommands=(Command("acl kv", always=3),)
    ),
    Program("distrobox lxc-attach systemd-nspawn toolbox", elsewhere="command", runs_input="shell"),
    Program(
        "docker",
        always=2,
        destructive_words="delete destroy rm prune down",
        elsewhere="container",
        unrated="-c -l --log-level --tlscacert --tlscert --tlskey --url --connection --identity "
        "--root --runroot --storage-driver -f --file -p --project-name --profile --env-file "
        "--project-directory --progress --parallel --ansi -n --namespace",
        options=(
            Option("-H --host --context", effect="network", value="text"),
            Option("--config", effect="execute", value="text"),
        ),
        subcommands=(
            Command(
                "builder compose container context image manifest network plugin secret service "
                "stack swarm system volume",
                always=3,
            ),
            Command("buildx", always=3, subcommands=(Command("imagetools", always=4),)),
            Command("trust", always=3, subcommands=(Command("key signer", always=4),)),
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
        options=(
            Option("--kube-token --kube-apiserver", effect="network", value="text"),
            Option("--kubeconfig", effect="execute", value="text"),
            Option("--post-renderer", effect="execute", value="unknown"),
        ),
        subcommands=(Command("dependency get plugin registry repo show", always=3),),
    ),
    Program("incus lxc", elsewhere="command"),
    Program("k3d", always=2, options=_LOCAL_CLUSTER_OPTIONS),
    Program(
        "kind",
        always=2,
        options=_LOCAL_CLUSTER_OPTIONS,
        subcommands=(Command("create delete get", always=3),),
    ),
    Program(
        "kubectl",
        network="*",
        always=2,
        destructive_words="delete destroy rm prune down",
        elsewhere="container",
        unrated="-n --namespace --context --cluster --user -s --as-group --request-timeout "
        "--certificate-authority --client-key --client-certificate -f --filename -o --output -l "
        "--selector",
        options=(
            Option("--server --as --token", effect="network", value="text"),
            Option("--kubeconfig", effect="execute", value="text"),
        ),
        subcommands=(
            Command(
                "apply auth certificate config create delete describe get rollout set top", always=3
            ),
        ),
    ),
    Program("machinectl", elsewhere="command", runs_input="shell", code_options="-c"),
    Program(
        "minikube",
        always=2,
        options=_LOCAL_CLUSTER_OPTIONS,
        subcommands=(Command("addons config image", always=3),),
    ),
    Program(
        "nerdctl",
        always=2,
        elsewhere="container",
        options=_CONTAINER_OPTIONS,
        subcommands=(Command("compose container image network volume", always=3),),
    ),
    Program(
        "nomad",
        always=2,
        options=_HASHICORP_OPTIONS,
        subcommands=(
            Command("acl alloc deployment job namespace node operator var volume", always=3),
        ),
    ),
    Program(
        "oc",
        always=2,
        elsewhere="container",
        options=_KUBERNETES_OPTIONS,
        subcommands=(Command("adm auth describe get", always=3),),
    ),
    Program(
        "podman",
        always=2,
        destructive_words="delete destroy rm prune down",
        elsewhere="container",
        options=_CONTAINER_OPTIONS,
        subcommands=(
            Command(
                "compose container generate image machine network pod secret system volume",
                always=3,
            ),
        ),
    ),
    Program("vagrant", always=2, elsewhere="command", code_options="-c"),
    Program(
        "vault",
        always=2,
        options=_HASHICORP_OPTIONS,
        subcommands=(Command("auth kv policy secrets token", always=3),),
    ),
)
