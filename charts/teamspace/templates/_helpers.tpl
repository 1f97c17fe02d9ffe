{{- define "teamspace.labels" -}}
app.kubernetes.io/name: teamspace
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "teamspace.controllerName" -}}
{{ .Release.Name }}-controller
{{- end }}

{{- /* The pods of a part; called with the root and the part's name. */ -}}
{{- define "teamspace.selector" -}}
app.kubernetes.io/name: teamspace
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "teamspace.webhookName" -}}
{{ .Release.Name }}-webhook
{{- end }}

{{- define "teamspace.controllerUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "teamspace.controllerName" . }}
{{- end }}

{{- /* The garbage collector and the namespace controller, with credentials of their own
       and without. Whoever stands in their way keeps objects from going. */ -}}
{{- define "teamspace.collectors" -}}
- system:kube-controller-manager
- system:serviceaccount:kube-system:generic-garbage-collector
- system:serviceaccount:kube-system:namespace-controller
{{- end }}

{{- /* The controllers of Kubernetes that make, adopt and release objects, each by its
       exact name. No group is in here but that of the nodes. */ -}}
{{- define "teamspace.builtInControllers" -}}
- system:kube-scheduler
{{- range splitList " " "attachdetach-controller certificate-controller clusterrole-aggregation-controller cronjob-controller daemon-set-controller deployment-controller device-taint-eviction-controller disruption-controller endpoint-controller endpointslice-controller endpointslicemirroring-controller ephemeral-volume-controller expand-controller horizontal-pod-autoscaler job-controller legacy-service-account-token-cleaner node-controller persistent-volume-binder pod-garbage-collector podgroup-protection-controller pv-protection-controller pvc-protection-controller replicaset-controller replication-controller resource-claim-controller resourcequota-controller root-ca-cert-publisher route-controller selinux-warning-controller service-account-controller service-cidrs-controller service-controller statefulset-controller storage-version-garbage-collector storage-version-migrator-controller ttl-after-finished-controller ttl-controller validatingadmissionpolicy-status-controller volumeattributesclass-protection-controller" }}
- system:serviceaccount:kube-system:{{ . }}
{{- end }}
{{- end }}

{{- /* A list of YAML as one of CEL. */ -}}
{{- define "teamspace.celList" -}}
[{{ range $i, $item := . }}{{ if $i }}, {{ end }}'{{ $item }}'{{ end }}]
{{- end }}
