{{- define "winnow.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "winnow.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
{{- define "winnow.mounts" -}}
- {name: sockets, mountPath: /run/winnow}
- {name: shared-memory, mountPath: /dev/shm}
{{- end }}
