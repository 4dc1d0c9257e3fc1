{{- define "winnow.resources" -}}
{{ toYaml .resources }}
{{- if .gpu }}
claims: [{name: gpu}]
{{- end }}
{{- end }}
{{- /* The control daemon of MPS: started first, found by the pipe directory in a volume that all three share. */}}
{{- define "winnow.mpsContainer" -}}
- name: mps
  image: {{ .Values.gpu.mps.image }}
  restartPolicy: Always
  command: [nvidia-cuda-mps-control, -f]
  env:
    - {name: CUDA_MPS_PIPE_DIRECTORY, value: /mps/pipe}
    - {name: CUDA_MPS_LOG_DIRECTORY, value: /mps/log}
    - {name: NVIDIA_DRIVER_CAPABILITIES, value: "compute,utility"}
  startupProbe:
    exec: {command: [sh, -c, "echo get_default_active_thread_percentage | nvidia-cuda-mps-control"]}
    periodSeconds: 1
    failureThreshold: 30
  securityContext: {{- include "winnow.securityContext" . | nindent 4 }}
  resources:
    requests: {cpu: 50m, memory: 64Mi}
    limits: {cpu: 500m, memory: 1Gi}
    claims: [{name: gpu}]
  volumeMounts:
    - {name: mps, mountPath: /mps}
    - {name: shared-memory, mountPath: /dev/shm}
{{- end }}
{{- define "winnow.container" -}}
- name: winnow
  image: "{{ .Values.image.repository | default (ternary "winnow-cuda" "winnow" .Values.gpu.enabled) }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  restartPolicy: Always
  args: [--config=/etc/winnow/winnow.yaml]
  env:
    - {name: WINNOW_LISTEN, value: ""} # the image's default would win over the file
    {{- if ne (include "winnow.mps" .) "none" }}
    - {name: CUDA_MPS_PIPE_DIRECTORY, value: {{ include "winnow.pipeDirectory" . }}}
    {{- end }}
    {{- with .Values.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - {name: metrics, containerPort: {{ int .Values.metricsPort }}}
    {{- if .Values.tls.enabled }}
    - {name: grpc-tls, containerPort: {{ int .Values.tls.port }}}
    {{- end }}
  startupProbe:
    exec: {command: [/usr/bin/winnow, probe, "--target=unix:/run/winnow/winnow.sock", --timeout=2]}
    periodSeconds: 1
    timeoutSeconds: 3
    failureThreshold: 60
  livenessProbe:
    httpGet: {path: /healthz, port: metrics}
    periodSeconds: 10
    timeoutSeconds: 2
  readinessProbe:
    httpGet: {path: /readyz, port: metrics}
    periodSeconds: 2
    timeoutSeconds: 2
  securityContext: {{- include "winnow.securityContext" . | nindent 4 }}
  resources: {{- include "winnow.resources" (dict "resources" .Values.resources "gpu" .Values.gpu.enabled) | nindent 4 }}
  volumeMounts:
    {{- include "winnow.mounts" . | nindent 4 }}
    - {name: config, mountPath: /etc/winnow, readOnly: true}
    {{- if .Values.tls.enabled }}
    - {name: tls, mountPath: /etc/winnow-tls, readOnly: true}
    {{- end }}
{{- end }}
{{- define "winnow.engineContainer" -}}
- name: {{ .Values.engine.name }}
  image: {{ .Values.engine.image }}
  {{- range $name := list "command" "args" "ports" }}
  {{- with get $.Values.engine $name }}
  {{ $name }}: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  env:
    - {name: WINNOW_TARGET, value: "unix:/run/winnow/winnow.sock"}
    {{- if ne (include "winnow.mps" .) "none" }}
    - {name: CUDA_MPS_PIPE_DIRECTORY, value: {{ include "winnow.pipeDirectory" . }}}
    {{- end }}
    {{- with .Values.engine.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  securityContext: {{- toYaml .Values.engine.securityContext | nindent 4 }}
  resources: {{- include "winnow.resources" (dict "resources" .Values.engine.resources "gpu" .Values.gpu.enabled) | nindent 4 }}
  volumeMounts:
    {{- include "winnow.mounts" . | nindent 4 }}
    {{- with .Values.engine.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
