"""Formats of the keys and tokens of well-known vendors.

Each pattern begins with a literal, has bounded repetitions of one character class, and begins only where a token
begins. Therefore a search takes time proportional to the length of the text.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory_butler.policy.trust.secrets.placeholders import is_placeholder, is_random

_W, _U, _H = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9a-fA-F]"

# Kind and pattern. Kinds that come twice are alternatives.
FORMATS: tuple[tuple[str, str], ...] = (
    ("aws_key", r"(?:AKIA|ASIA|ABIA|ACCA|AIDA|AROA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("aws_key", r"ABSK[A-Za-z0-9+/]{80,280}={0,2}"),
    ("gcp_key", rf"AIza{_U}{{35}}"),
    ("gcp_key", rf"ya29\.[A-Za-z0-9_.-]{{20,1024}}|GOCSPX-{_U}{{20,60}}|1//0{_U}{{30,200}}"),
    ("gcp_key", rf"AAAA{_U}{{7}}:APA91b{_U}{{100,200}}"),
    ("alibaba_key", rf"LTAI{_W}{{16,20}}(?![A-Za-z0-9])"),
    ("tencent_key", rf"AKID{_W}{{32}}(?![A-Za-z0-9])"),
    ("volcengine_key", rf"AKLT{_W}{{20,60}}"),
    ("yandex_key", rf"AQVN{_U}{{35,40}}|t1\.9eu{_U}{{40,300}}\.{_U}{{86}}|y[0-9]_{_U}{{50,90}}"),
    ("exoscale_key", r"EXO[0-9a-f]{24}(?![0-9A-Za-z])"),
    ("scalingo_token", rf"tk-us-{_U}{{48}}"),
    ("cloudflare_token", rf"v1\.0-[0-9a-f]{{24}}-[0-9a-f]{{146}}|cf(?:k|ut|at)_{_W}{{40,60}}"),
    ("render_key", rf"rnd_{_W}{{24,40}}"),
    ("netlify_token", rf"nf[bcopu]_{_W}{{36,60}}"),
    ("vercel_token", rf"vc[aikpr]_{_W}{{24,60}}"),
    ("neon_key", r"napi_[a-z0-9]{60,80}|npg_[A-Za-z0-9]{12,30}"),
    ("openshift_token", rf"sha256~{_U}{{43}}"),
    ("onepassword_token", rf"ops_eyJ{_U}{{100,1000}}|A3-[A-Z0-9]{{6}}-(?:[A-Z0-9]{{5,11}}-?){{4,6}}"),
    ("infisical_token", r"st\.[0-9a-f-]{20,40}\.[0-9a-f]{20,64}\.[0-9a-f]{20,64}"),
    ("dynatrace_token", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("honeycomb_key", r"hc[abx][ilx][ck]_[0-9a-z]{40,70}"),
    ("posthog_key", rf"phx_{_W}{{40,60}}"),
    ("axiom_token", r"xa[ap]t-[0-9a-f]{8}-[0-9a-f-]{27}"),
    ("sonar_token", r"sq[apu]_[0-9a-f]{40}"),
    ("contentful_token", rf"CFPAT-{_U}{{43}}"),
    ("nuget_key", r"oy2[a-z0-9]{43}(?![a-z0-9])"),
    ("clojars_token", r"CLOJARS_[a-z0-9]{60}"),
    ("artifactory_key", rf"AKCp{_W}{{66,72}}|cmVmdGtu{_W}{{50,60}}"),
    ("adobe_key", r"p8e-[a-z0-9]{32}(?![a-z0-9])"),
    ("maxmind_key", rf"{_W}{{6}}_{_W}{{29}}_mmk"),
    ("intercom_token", r"s-s4t2(?:ud|af)-[0-9a-f]{64}"),
    ("harness_key", rf"(?:pat|sat)\.{_U}{{22}}\.[0-9a-f]{{24}}\.{_W}{{20}}"),
    ("octopus_key", r"API-[A-Z0-9]{26}(?![A-Za-z0-9])"),
    ("twitch_token", r"oauth:[a-z0-9]{30}(?![a-z0-9])"),
    ("resend_key", rf"re_{_W}{{8}}_{_W}{{20,40}}"),
    ("nvidia_key", rf"nvapi-{_U}{{60,80}}"),
    ("langsmith_key", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    ("langfuse_key", r"sk-lf-[0-9a-f]{8}-[0-9a-f-]{27}"),
    ("pinecone_key", rf"pcsk_{_W}{{4,8}}_{_W}{{40,80}}"),
    ("fireworks_key", rf"fw_{_W}{{20,40}}(?![A-Za-z0-9_])"),
    ("cerebras_key", r"csk-[a-z0-9]{40,60}"),
    ("jina_key", rf"jina_{_W}{{50,80}}"),
    ("tavily_key", rf"tvly-(?:dev-|prod-)?{_W}{{28,60}}"),
    ("firecrawl_key", r"fc-[0-9a-f]{32}(?![0-9a-f])"),
    ("voyage_key", rf"pa-{_U}{{43}}(?![A-Za-z0-9_-])"),
    ("e2b_key", r"e2b_[0-9a-f]{40}"),
    ("azure_key", rf"{_U}{{3}}8Q~{_U}{{31,40}}"),
    ("github_token", rf"gh[pousr]_{_W}{{30,255}}|github_pat_[A-Za-z0-9_]{{22,255}}"),
    (
        "gitlab_token",
        rf"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas|ffct|rtr)-[A-Za-z0-9_.-]{{16,300}}|GR1348941{_U}{{16,60}}",
    ),
    ("slack_token", rf"xox[abceoprs]-[A-Za-z0-9-]{{10,300}}|xapp-\d-[A-Za-z0-9-]{{20,200}}|xoxe\.{_U}{{10,300}}"),
    ("stripe_key", rf"(?:sk|rk)_(?:live|test|prod)_{_W}{{16,250}}|whsec_[A-Za-z0-9+/=]{{20,100}}"),
    ("twilio_key", r"SK[0-9a-f]{32}(?![0-9a-zA-Z])"),
    ("sendgrid_key", rf"SG\.{_U}{{16,32}}\.{_U}{{30,64}}"),
    ("mailgun_key", r"key-[0-9a-f]{32}(?![0-9a-zA-Z])|(?:pubkey-)[0-9a-f]{32}"),
    ("mailchimp_key", r"[0-9a-f]{32}-us\d{1,2}(?!\d)"),
    ("brevo_key", rf"xkeysib-[0-9a-f]{{64}}-{_W}{{16}}"),
    ("anthropic_key", rf"sk-ant-{_U}{{20,200}}"),
    ("openai_key", rf"sk-(?:proj|svcacct|admin|None)-{_U}{{20,300}}|sk-{_W}{{32,120}}|sk-or-v1-[0-9a-f]{{40,80}}"),
    ("huggingface_token", rf"(?:hf|api_org)_{_W}{{30,60}}"),
    ("groq_key", rf"gsk_{_W}{{40,80}}"),
    ("perplexity_key", rf"pplx-{_W}{{32,80}}"),
    ("replicate_token", rf"r8_{_W}{{30,60}}"),
    ("xai_key", rf"xai-{_W}{{60,100}}"),
    ("npm_token", rf"npm_{_W}{{30,60}}"),
    ("pypi_token", rf"pypi-{_U}{{40,400}}"),
    ("rubygems_key", r"rubygems_[0-9a-f]{48}"),
    ("crates_token", rf"cio{_W}{{32}}(?![A-Za-z0-9])"),
    ("docker_token", rf"dckr_(?:pat|oat)_{_U}{{20,60}}"),
    ("digitalocean_token", r"do[opr]_v1_[0-9a-f]{40,80}"),
    ("heroku_key", r"HRKU-[A-Za-z0-9_-]{30,100}"),
    ("fly_token", rf"fo1_{_U}{{40,60}}|fm[12][ar]?_[A-Za-z0-9+/=]{{80,600}}"),
    ("telegram_token", rf"\d{{8,10}}:AA{_U}{{31,36}}(?![A-Za-z0-9_-])"),
    ("discord_token", rf"[MNO]{_W}{{22,27}}\.{_U}{{6,7}}\.{_U}{{27,42}}"),
    ("shopify_token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|shpua_[0-9a-f]{32}"),
    ("atlassian_token", r"AT(?:ATT|BB|CTT)3?[A-Za-z0-9_=-]{24,300}"),
    ("linear_key", rf"lin_(?:api|oauth)_{_W}{{32,64}}"),
    ("notion_token", rf"(?:secret_{_W}{{43}}|ntn_{_W}{{40,60}})(?![A-Za-z0-9])"),
    ("figma_token", rf"fig[dou]r?_{_U}{{36,60}}"),
    ("airtable_token", rf"pat{_W}{{14}}\.[0-9a-f]{{64}}"),
    ("dropbox_token", rf"sl\.(?:u\.)?{_U}{{100,1200}}"),
    ("square_token", rf"sq0(?:atp|csp|idp)-{_U}{{22,60}}|EAAA{_U}{{56,64}}(?![A-Za-z0-9_-])"),
    ("newrelic_key", rf"NR(?:AK|RA|II|AL|JS)-{_U}{{19,60}}"),
    ("sentry_token", r"sntry[su]_[A-Za-z0-9+/=_]{40,300}"),
    ("grafana_token", rf"glsa_{_W}{{32}}_[0-9a-fA-F]{{8}}|glc_[A-Za-z0-9+/]{{32,400}}={{0,2}}"),
    ("vault_token", rf"hv[sbr]\.{_U}{{20,300}}"),
    ("terraform_token", rf"{_W}{{14}}\.atlasv1\.{_U}{{60,80}}"),
    ("databricks_token", r"dapi[0-9a-f]{32}(?:-\d)?"),
    ("postman_key", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("doppler_token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,80}"),
    ("planetscale_token", r"pscale_(?:pw|tkn|oauth)_[A-Za-z0-9_.-]{32,64}"),
    ("supabase_key", r"sb(?:p|s|_secret)_[A-Za-z0-9_]{30,80}"),
    ("mapbox_token", rf"sk\.eyJ{_U}{{20,200}}\.{_U}{{20,60}}"),
    ("facebook_token", r"EAA[A-Z]{1,2}[A-Za-z0-9]{60,300}"),
    ("twitter_token", r"A{20,24}[A-Za-z0-9%]{40,200}"),
    ("age_key", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("sourcegraph_token", r"sgp_(?:[0-9a-f]{16}_)?[0-9a-f]{40}"),
    ("buildkite_token", r"bk(?:ua|at|c)_[0-9a-f]{40}"),
    ("pulumi_token", r"pul-[0-9a-f]{40}"),
    ("prefect_key", rf"pn[ub]_{_W}{{36}}"),
    ("duffel_token", rf"duffel_(?:live|test)_{_U}{{40,50}}"),
    ("easypost_key", rf"EZ[AT]K{_W}{{54}}"),
    ("flutterwave_key", r"FLW(?:SEC|PUB)K(?:_TEST)?-[0-9a-hA-H]{32}-X"),
    ("frameio_token", rf"fio-u-{_U}{{64}}"),
    ("plaid_token", r"access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f-]{27}"),
    ("razorpay_key", rf"rzp_(?:live|test)_{_W}{{14}}"),
    ("readme_key", r"rdme_[a-z0-9]{70}"),
    ("shippo_token", r"shippo_(?:live|test)_[0-9a-f]{40}"),
    ("tailscale_key", rf"tskey-(?:auth|api|client|scim|webhook)-{_W}{{6,30}}-{_W}{{20,60}}"),
    ("typeform_token", r"tfp_[A-Za-z0-9_.=-]{40,80}"),
    ("clickup_token", r"pk_\d{6,9}_[A-Z0-9]{32}"),
    ("hubspot_token", r"pat-(?:na|eu)\d-[0-9a-f]{8}-[0-9a-f-]{27}"),
    ("cloudinary_key", rf"cloudinary://\d{{10,20}}:{_U}{{20,40}}"),
    ("zapier_key", r"sk-ak-[A-Za-z0-9]{16,40}"),
    ("launchdarkly_key", r"(?:sdk|mob|api)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    ("asana_token", r"[12]/\d{16}(?:/\d{16})?:[0-9a-f]{32}"),
    ("memory_butler_token", rf"mb[tl]_{_U}{{20,100}}"),
    ("jwt", rf"ey[JK]{_U}{{8,512}}\.{_U}{{8,4000}}(?:\.{_U}{{0,2000}})?"),
)

_NAMES = tuple(kind for kind, _ in FORMATS)
VENDOR_KINDS = frozenset(_NAMES)
_PATTERN = re.compile(
    r"(?<![A-Za-z0-9])(?:" + "|".join(f"(?P<f{n}>{pattern})" for n, (_, pattern) in enumerate(FORMATS)) + ")"
)
# Only words of at least this length are compared with the formats.
_LONG = re.compile(r"[A-Za-z0-9_\-./+=:~%]{18,}")
# The marks of Markdown may stand at the break: a quotation, a list, code, a hard line break.
_SPLIT = re.compile(
    r"([A-Za-z0-9_\-.]{10,300})([ \t]{0,4}(?:\\|<br ?/?>|[`*]{1,3})?[ \t]{0,4}\r?\n[ \t>*|`#-]{0,40})"
    r"([A-Za-z0-9_\-.]{8,300})"
)


class Finding(NamedTuple):
    """A secret at a span of the plain view."""

    start: int
    end: int
    kind: str


def find_vendor_tokens(text: str) -> Iterator[Finding]:
    """Find tokens of vendors, also such that a line break splits."""
    for word in _LONG.finditer(text):
        yield from _in_word(text, word.start(), word.end())
    if "\n" in text:
        for split in _SPLIT.finditer(text):
            yield from _across_lines(split)


def _in_word(text: str, start: int, end: int) -> Iterator[Finding]:
    for found in _PATTERN.finditer(text, start, end):
        token = found[0]
        # Keys of documentation such as AKIA…EXAMPLE have the whole format: nothing is lost without them.
        if not is_placeholder(token[-40:].replace("EXAMPLE", "")) and len(set(token[-16:])) > 4:
            yield Finding(found.start(), found.end(), _kind(found))


def _across_lines(split: re.Match[str]) -> Iterator[Finding]:
    first, second = split[1], split[3]
    alone = _PATTERN.search(first)
    joined = _PATTERN.search(first + second)
    if joined is None or joined.end() <= len(first):
        return
    if alone and alone.end() == len(first) and first[-1].isalnum():
        return
    if is_random(second) or not first[-1].isalnum():
        end = split.start(3) + joined.end() - len(first)
        yield Finding(split.start(1) + joined.start(), end, _kind(joined))


def _kind(found: re.Match[str]) -> str:
    assert found.lastgroup
    return _NAMES[int(found.lastgroup[1:])]
