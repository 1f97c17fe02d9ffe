{{- define "teamspace.labels" -}}
app.kubernetes.io/name: teamspace
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- range $key, $value := .Values.commonLabels }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{- /* The annotations of an object, if it has any: called with the root, and a dict of those
       that are its own. */ -}}
{{- define "teamspace.annotations" -}}
{{- $own := dict -}}
{{- if gt (len .) 1 }}{{ $own = index . 1 }}{{ end -}}
{{- with merge (dict) $own (index . 0).Values.commonAnnotations }}
  annotations:
    {{- range $key, $value := . }}
    {{ $key }}: {{ $value | quote }}
    {{- end }}
{{- end }}
{{- end }}

{{- define "teamspace.controllerName" -}}
{{ .Release.Name }}-controller
{{- end }}

{{- define "teamspace.drainName" -}}
{{ .Release.Name }}-drain
{{- end }}

{{- define "teamspace.testName" -}}
{{ .Release.Name }}-test
{{- end }}

{{- define "teamspace.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- /* What every pod of ours has in its spec; the service account is its own matter. */ -}}
{{- define "teamspace.podSpec" -}}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  {{- with .Values.runAsUser }}
  runAsUser: {{ . }}
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- range $field := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with index $.Values $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What every container of ours has: the one binary, and nothing that it could do with the
       machine. */ -}}
{{- define "teamspace.container" -}}
image: {{ include "teamspace.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
env:
  - name: POD_NAMESPACE
    valueFrom:
      fieldRef:
        fieldPath: metadata.namespace
{{- end }}

{{- /* The metadata of a pod; called with the root and the part's name. */ -}}
{{- define "teamspace.podMetadata" -}}
{{- $root := index . 0 -}}
labels:
  {{- include "teamspace.selector" . | nindent 2 }}
  {{- range $key, $value := merge (dict) $root.Values.podLabels $root.Values.commonLabels }}
  {{ $key }}: {{ $value | quote }}
  {{- end }}
{{- with merge (dict) $root.Values.podAnnotations $root.Values.commonAnnotations }}
annotations:
  {{- range $key, $value := . }}
  {{ $key }}: {{ $value | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* All pods of the release. */ -}}
{{- define "teamspace.pods" -}}
app.kubernetes.io/name: teamspace
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The pods of a part; called with the root and the part's name. */ -}}
{{- define "teamspace.selector" -}}
{{ include "teamspace.pods" (index . 0) }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "teamspace.webhookName" -}}
{{ .Release.Name }}-webhook
{{- end }}

{{- define "teamspace.controllerUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "teamspace.controllerName" . }}
{{- end }}

{{- define "teamspace.drainUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "teamspace.drainName" . }}
{{- end }}

{{- /* The garbage collector and the namespace controller, with credentials of their own
       and without. Whoever stands in their way keeps objects from going. */ -}}
{{- define "teamspace.collectors" -}}
- system:kube-controller-manager
- system:serviceaccount:kube-system:generic-garbage-collector
- system:serviceaccount:kube-system:namespace-controller
{{- end }}

{{- /* The controllers of Kubernetes that make, adopt and release objects, each by its
       exact name. */ -}}
{{- define "teamspace.builtInControllers" -}}
- system:kube-scheduler
- system:serviceaccount:kube-system:attachdetach-controller
- system:serviceaccount:kube-system:certificate-controller
- system:serviceaccount:kube-system:clusterrole-aggregation-controller
- system:serviceaccount:kube-system:cronjob-controller
- system:serviceaccount:kube-system:daemon-set-controller
- system:serviceaccount:kube-system:deployment-controller
- system:serviceaccount:kube-system:device-taint-eviction-controller
- system:serviceaccount:kube-system:disruption-controller
- system:serviceaccount:kube-system:endpoint-controller
- system:serviceaccount:kube-system:endpointslice-controller
- system:serviceaccount:kube-system:endpointslicemirroring-controller
- system:serviceaccount:kube-system:ephemeral-volume-controller
- system:serviceaccount:kube-system:expand-controller
- system:serviceaccount:kube-system:horizontal-pod-autoscaler
- system:serviceaccount:kube-system:job-controller
- system:serviceaccount:kube-system:legacy-service-account-token-cleaner
- system:serviceaccount:kube-system:node-controller
- system:serviceaccount:kube-system:persistent-volume-binder
- system:serviceaccount:kube-system:pod-garbage-collector
- system:serviceaccount:kube-system:podgroup-protection-controller
- system:serviceaccount:kube-system:pv-protection-controller
- system:serviceaccount:kube-system:pvc-protection-controller
- system:serviceaccount:kube-system:replicaset-controller
- system:serviceaccount:kube-system:replication-controller
- system:serviceaccount:kube-system:resource-claim-controller
- system:serviceaccount:kube-system:resourcequota-controller
- system:serviceaccount:kube-system:root-ca-cert-publisher
- system:serviceaccount:kube-system:route-controller
- system:serviceaccount:kube-system:selinux-warning-controller
- system:serviceaccount:kube-system:service-account-controller
- system:serviceaccount:kube-system:service-cidrs-controller
- system:serviceaccount:kube-system:service-controller
- system:serviceaccount:kube-system:statefulset-controller
- system:serviceaccount:kube-system:storage-version-garbage-collector
- system:serviceaccount:kube-system:storage-version-migrator-controller
- system:serviceaccount:kube-system:ttl-after-finished-controller
- system:serviceaccount:kube-system:ttl-controller
- system:serviceaccount:kube-system:validatingadmissionpolicy-status-controller
- system:serviceaccount:kube-system:volumeattributesclass-protection-controller
{{- end }}

{{- /* The namespaced kinds of Kubernetes, with their groups, in lower case. */ -}}
{{- define "teamspace.namespacedKinds" -}}
- configmap
- endpoints
- event
- limitrange
- persistentvolumeclaim
- pod
- podtemplate
- replicationcontroller
- resourcequota
- secret
- service
- serviceaccount
- apps/controllerrevision
- apps/daemonset
- apps/deployment
- apps/replicaset
- apps/statefulset
- authorization.k8s.io/localsubjectaccessreview
- autoscaling/horizontalpodautoscaler
- batch/cronjob
- batch/job
- certificates.k8s.io/podcertificaterequest
- coordination.k8s.io/lease
- coordination.k8s.io/leasecandidate
- discovery.k8s.io/endpointslice
- events.k8s.io/event
- extensions/ingress
- networking.k8s.io/ingress
- networking.k8s.io/networkpolicy
- policy/poddisruptionbudget
- rbac.authorization.k8s.io/role
- rbac.authorization.k8s.io/rolebinding
- resource.k8s.io/resourceclaim
- resource.k8s.io/resourceclaimtemplate
- scheduling.k8s.io/podgroup
- scheduling.k8s.io/workload
- storage.k8s.io/csistoragecapacity
{{- end }}

{{- /* A list of YAML as one of CEL. */ -}}
{{- define "teamspace.celList" -}}
[{{ range $i, $item := . }}{{ if $i }}, {{ end }}'{{ $item }}'{{ end }}]
{{- end }}
