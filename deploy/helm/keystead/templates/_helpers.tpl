{{- define "keystead.labels" -}}
app.kubernetes.io/name: keystead
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
