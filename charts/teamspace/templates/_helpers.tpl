{{- define "teamspace.labels" -}}
app.kubernetes.io/name: teamspace
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "teamspace.controllerName" -}}
{{ .Release.Name }}-controller
{{- end }}

{{- define "teamspace.controllerSelector" -}}
app.kubernetes.io/name: teamspace
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end }}
