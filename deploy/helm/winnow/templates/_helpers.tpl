{{- define "winnow.name" -}}
{{ .Release.Name }}-winnow
{{- end }}
{{- /* Those that select: they never change during the life of a release. */}}
{{- define "winnow.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "winnow.labels" -}}
{{ include "winnow.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
{{- define "winnow.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
{{- /* A daemon of the node meets its clients in the node's /dev/shm, which hostIPC brings: no volume may lie over it. */}}
{{- define "winnow.mounts" -}}
- {name: sockets, mountPath: /run/winnow}
{{- if ne (include "winnow.mps" .) "node" }}
- {name: shared-memory, mountPath: /dev/shm}
{{- end }}
{{- if eq (include "winnow.mps" .) "pod" }}
- {name: mps, mountPath: /mps}
{{- else if eq (include "winnow.mps" .) "node" }}
- {name: mps, mountPath: {{ .Values.gpu.mps.nodePipeDirectory }}}
{{- end }}
{{- end }}
{{- /* none without a GPU. */}}
{{- define "winnow.mps" -}}
{{ ternary .Values.gpu.mps.mode "none" .Values.gpu.enabled }}
{{- end }}
{{- define "winnow.pipeDirectory" -}}
{{ ternary "/mps/pipe" .Values.gpu.mps.nodePipeDirectory (eq .Values.gpu.mps.mode "pod") }}
{{- end }}
{{- define "winnow.claimTemplate" -}}
{{ .Values.gpu.resourceClaimTemplateName | default (printf "%s-gpu" (include "winnow.name" .)) }}
{{- end }}
{{- /* What values.schema.json cannot see: values that exclude each other. */}}
{{- define "winnow.check" -}}
{{- if and .Values.gpu.enabled (not .Values.gpu.resourceClaimTemplateName) (semverCompare "<1.34.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail (printf "gpu.enabled: ResourceClaimTemplate resource.k8s.io/v1 needs Kubernetes 1.34, not %s; name a template of yours by gpu.resourceClaimTemplateName (helm template takes --kube-version)" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- if and (ne .Values.gpu.mps.mode "none") (not .Values.gpu.enabled) }}
{{- fail (printf "gpu.mps.mode is %s without a GPU; set gpu.enabled, or leave it none" .Values.gpu.mps.mode) }}
{{- end }}
{{- if and .Values.tls.enabled (not .Values.tls.secretName) }}
{{- fail "tls.secretName is empty; name a secret with tls.crt, tls.key and ca.crt, or leave tls.enabled false" }}
{{- end }}
{{- if and .Values.tls.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.clientsFrom) }}
{{- fail "networkPolicy.clientsFrom is empty, so that nobody could reach tls.port; list the peers, or set networkPolicy.enabled to false" }}
{{- end }}
{{- if eq (int .Values.tls.port) (int .Values.metricsPort) }}
{{- fail (printf "tls.port and metricsPort are both %d" (int .Values.metricsPort)) }}
{{- end }}
{{- range list "listen" "http-listen" "insecure-http-listen" "tls-cert" "tls-key" "tls-client-ca" }}
{{- if hasKey $.Values.config . }}
{{- fail (printf "config.%s is the chart's own: its probes and mounts depend on it; see metricsPort and tls" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- /* The settings of the server: what the chart needs, over those of .Values.config. Quoted, because a number of YAML becomes
a float on its way through helm, and 1073741824 would arrive as 1.073741824e+09. */}}
{{- define "winnow.config" -}}
{{- $listen := list "unix:/run/winnow/winnow.sock" }}
{{- $own := dict "backend" (ternary "cuda" "cpu" .Values.gpu.enabled) }}
{{- if .Values.tls.enabled }}
{{- $listen = append $listen (printf "0.0.0.0:%d" (int .Values.tls.port)) }}
{{- $own = merge (dict "tls-cert" "/etc/winnow-tls/tls.crt" "tls-key" "/etc/winnow-tls/tls.key" "tls-client-ca" "/etc/winnow-tls/ca.crt") $own }}
{{- end }}
{{- $own = merge (dict "listen" $listen "http-listen" (list "unix:/run/winnow/http.sock") "insecure-http-listen" (list (printf "0.0.0.0:%d" (int .Values.metricsPort)))) $own }}
{{- range $name, $value := merge (deepCopy .Values.config) $own }}
{{- if kindIs "slice" $value }}
{{ $name }}: {{ toJson $value }}
{{- else if kindIs "float64" $value }}
{{ $name }}: {{ int64 $value | quote }}
{{- else }}
{{ $name }}: {{ toString $value | quote }}
{{- end }}
{{- end }}
{{- end }}
