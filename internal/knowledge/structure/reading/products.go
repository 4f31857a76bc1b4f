package reading

const products = `
	activemq airflow airtable ansible apache argocd auth0 aws azure bazel bitbucket bootstrap cassandra chatgpt chromadb circleci clickhouse cloudflare cloudfront cloudwatch cockroachdb
	confluence couchbase couchdb css3 dagster datadog debian deno django docker dockerhub duckdb dynamodb ec2 ecs eks elasticsearch eslint etcd expressjs fastapi
	fastify figma firebase firestore flask fluentd gcp gcs gitea github gitlab golang grafana graphql grpc gunicorn hadoop haproxy haskell hasura heroku html5 hubspot huggingface infisical influxdb
	 javascript jenkins jira jq jquery jupyter k8s kafka keycloak kibana kotlin kubernetes langchain langgraph laravel linux llama llm lua macos mariadb matplotlib meilisearch memcached
	minio mixpanel mlflow mongodb mongoose mqtt mysql nats neo4j netlify newrelic nextjs nginx nodejs npm numpy nuxt okta openai opensearch opentelemetry
	pandas paypal pgbouncer pgvector php pinecone playwright pnpm postgres postgresql powershell prettier prisma prometheus pulumi puppeteer pyodide pytest pytorch qdrant rabbitmq 
	redis redshift redux redpanda s3 sagemaker salesforce sanic scylladb selenium sendgrid sidekiq sonarqube spacy splunk sqlalchemy sqlite sqs supabase
	svelte tailwind tailwindcss tauri tensorflow terraform trello twilio typescript ubuntu uvicorn vercel vite vitest vscode vue vuejs weaviate webpack websocket werkzeug whatsapp wordpress zod zookeeper
	zustand zendesk pydantic ruff mypy pip conda bleve bbolt jetstream ollama youtube instagram telegram`
