{{- define "ken.labels" -}}
app.kubernetes.io/name: ken
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
