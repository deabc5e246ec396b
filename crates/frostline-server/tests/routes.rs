//! Every path of the server, with requests as people's clients send them.

mod common;

use common::Running;
use serde_json::{Value, json};

const CONLLU: &str =
    "# sent_id = a\n1\tThe\tthe\t_\t_\tA=B\t0\t_\t_\tSpaceAfter=No\n2\tice\t_\t_\t_\t_\t0\t_\t_\t_\n\n";

/// Posts to a path and returns the JSON of a good answer.
#[track_caller]
fn good(server: &Running, path: &str, body: &Value) -> Value {
    let answer = server.post_json(path, body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn hugging_face_clients_get_entities() {
    let server = Running::start();
    let text = "The ice melts. Snow too.";
    let parameters = json!({"aggregation_strategy": "none", "ignore_labels": ["PUNCT"], "stride": 0});
    let found = good(&server, "/models/en", &json!({"inputs": text, "parameters": parameters}));
    let show = |entity: &Value| {
        format!("{} {} {}-{}", entity["entity"], entity["word"], entity["start"], entity["end"])
    };
    let shown: Vec<String> = found.as_array().expect("a list").iter().map(show).collect();
    assert_eq!(
        shown,
        [
            r#""DET" "The" 0-3"#,
            r#""NOUN" "ice" 4-7"#,
            r#""VERB" "melts" 8-13"#,
            r#""NOUN" "Snow" 15-19"#,
            r#""ADV" "too" 20-23"#
        ]
    );
    assert!(found[0]["score"].as_f64().expect("a number") > 0.99);
    assert_eq!(found[4]["index"], 6);
    // As an endpoint with one model, with other keys of clients, and a list of texts.
    let many = json!({"inputs": ["ice ice", "", "the"], "parameters": {}, "options": {"use_cache": false}});
    let found = good(&server, "/", &many);
    assert_eq!(found[0][0]["entity_group"], "NOUN");
    assert_eq!((&found[0][0]["word"], found[0].as_array().map(Vec::len)), (&json!("ice ice"), Some(1)));
    assert_eq!((&found[1], found[2].as_array().map(Vec::len)), (&json!([]), Some(1)));
    assert_eq!(good(&server, "/models/en", &json!({"inputs": "", "parameters": null})), json!([]));
}

#[test]
fn udpipe_clients_get_conllu() {
    let server = Running::start();
    let models = server.get("/models").json();
    assert_eq!(models["default_model"], "en");
    assert_eq!(models["models"]["bert"], json!(["tokenizer", "tagger"]));
    let part = |name: &str, value: &str| {
        format!(
            "--xyz\r\nContent-Disposition: form-data; name=\"{name}\"\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Transfer-Encoding: 8bit\r\nMIME-Version: 1.0\r\n\r\n{value}\r\n"
        )
    };
    let parts =
        [("input", "conllu"), ("output", "conllu"), ("data", CONLLU), ("tagger", ""), ("model", "en")];
    let body = parts.map(|(name, value)| part(name, value)).concat() + "--xyz--\r\n";
    let multipart = ["Content-Type: multipart/form-data; boundary=\"xyz\""];
    let answer = server.send("POST /process", &multipart, body.as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    let tagged = CONLLU.replace("the\t_", "the\tDET").replace("ice\t_\t_", "ice\t_\tNOUN");
    let answer = answer.json();
    assert_eq!((&answer["model"], &answer["result"]), (&json!("en"), &json!(tagged)));
    assert_eq!(answer["acknowledgements"], json!([]));

    let form = ["Content-Type: application/x-www-form-urlencoded; charset=utf-8"];
    let process = |form_body: &str| {
        let answer = server.send("POST /process?model=en", &form, form_body.as_bytes());
        assert_eq!(answer.status, 200, "{form_body}: {answer:?}");
        answer.json()["result"].as_str().expect("text").to_string()
    };
    let text = process("tokenizer&tagger&data=The+ice%0Amelts.");
    assert!(text.contains("# text = The ice\n1\tThe\t_\tDET\t"), "{text}");
    assert!(text.contains("1\tmelts\t_\tVERB\t_\t_\t_\t_\t_\tSpaceAfter=No\n2\t.\t_\tPUNCT"), "{text}");
    assert_eq!(process("tokenizer=presegmented&output=horizontal&data=Ice. Snow."), "Ice . Snow .\n");
    assert_eq!(process("tokenizer=&output=vertical&data=Ice. Snow."), "Ice\n.\n\nSnow\n.\n\n");
    let vertical = process("input=vertical&tagger=&data=Ice%0Amelts%0A%0ASnow");
    assert!(
        vertical.starts_with("1\tIce\t_\tNOUN\t") && vertical.contains("\n\n1\tSnow\t_\tNOUN"),
        "{vertical}"
    );
    assert!(process("input=horizontal&tagger=&data=Ice melts").contains("2\tmelts\t_\tVERB"));
    // Without `tagger`, nothing is tagged.
    assert_eq!(process(&format!("data={}", CONLLU.replace('\t', "%09").replace('\n', "%0A"))), CONLLU);
    let got = server.get("/process?tagger&tokenizer&data=ice%20melts");
    assert!(got.json()["result"].as_str().expect("text").contains("2\tmelts\t_\tVERB"), "{got:?}");
}

#[test]
fn plain_clients_get_tags_or_conllu() {
    let server = Running::start();
    let asked = json!({"models": ["other", "en"], "sentences": [["The", "ice"], [], ["melts", "\u{200b}"]], "probabilities": true});
    let found = good(&server, "/v1/tag", &asked);
    assert_eq!(found["models"], json!(["other", "en"]));
    let sentences = &found["sentences"];
    assert_eq!(sentences[0]["tags"], json!({"en": ["DET", "NOUN"], "other": ["DET", "NOUN"]}));
    assert_eq!((&sentences[1]["words"], &sentences[1]["tags"]["en"]), (&json!([]), &json!([])));
    assert_eq!(sentences[2]["tags"]["en"], json!(["VERB", "_"]));
    assert_eq!(sentences[2]["probabilities"]["en"][1], 0.0);
    let found = good(&server, "/v1/tag", &json!({"text": "Ice melts. Snow too."}));
    assert_eq!(found["models"], json!(["en", "bert", "other"]));
    assert_eq!(found["sentences"][1]["words"], json!(["Snow", "too", "."]));
    assert_eq!(found["sentences"][1].get("probabilities"), None);

    let tagged = CONLLU.replace("the\t_", "the\tDET").replace("ice\t_\t_", "ice\t_\tNOUN");
    let found = good(&server, "/v1/tag", &json!({"models": ["en"], "conllu": CONLLU}));
    assert_eq!(found, json!({"models": ["en"], "conllu": tagged}));
    // As `curl --data-binary @FILE` sends it.
    let answer = server.send(
        "POST /v1/tag?models=en,other",
        &["Content-Type: application/x-www-form-urlencoded"],
        CONLLU.as_bytes(),
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.head.contains("content-type: text/plain"), "{answer:?}");
    let both = tagged
        .replace("SpaceAfter=No", "SpaceAfter=No|Other=DET")
        .replace("\t_\t_\t_\n", "\t_\t_\tOther=NOUN\n");
    let both = both.replace("0\t_\t_\t_\n", "0\t_\t_\tOther=NOUN\n");
    assert_eq!(answer.body, both);
    let probable = server.send("POST /v1/tag?models=en&probabilities=true", &[], CONLLU.as_bytes());
    assert!(probable.body.contains("SpaceAfter=No|UposProb="), "{probable:?}");

    let models = server.get("/v1/models").json();
    assert_eq!(models["models"][0]["name"], "en");
    assert_eq!(models["models"][2]["column"], "misc.Other");
    // `other` is `en` again, with one block.
    assert_eq!((&models["blocks_computed"], &models["blocks_if_separate"]), (&json!(7), &json!(8)));
}

#[test]
fn supervisors_see_health_and_counters() {
    let server = Running::start();
    let health = server.get("/health");
    assert_eq!((health.status, health.json()), (200, json!({"status": "ok"})));
    good(&server, "/models/en", &json!({"inputs": "The ice melts."}));
    assert_eq!(server.post_json("/models/none", &json!({"inputs": "x"})).status, 404);
    let metrics = server.get("/metrics");
    assert!(metrics.head.contains("content-type: application/openmetrics-text"), "{metrics:?}");
    for line in [
        "# TYPE frostline_requests counter",
        "frostline_requests_total{route=\"/models/{id}\",status=\"200\"} 1",
        "frostline_requests_total{route=\"/models/{id}\",status=\"404\"} 1",
        "frostline_request_seconds_count{route=\"/health\"} 1",
        "frostline_words_total{model=\"en\"} 4",
        "frostline_round_requests_count 1",
        "frostline_waiting_words 0",
        "frostline_open_requests 0",
        "# EOF",
    ] {
        assert!(metrics.body.lines().any(|found| found == line), "{line}\n{}", metrics.body);
    }
}

#[test]
fn requests_that_are_computed_together_get_the_answers_that_each_gets_alone() {
    let server = Running::start();
    let words = ["the", "frog", "sees", "a", "stone", "Stones", "see", "frogs", "."];
    let request = |number: usize| {
        let sentence =
            |at: usize| (0..1 + (number * 7 + at) % 60).map(move |word| words[(word * number + at) % 9]);
        let sentences: Vec<Vec<&str>> = (0..1 + number % 5).map(|at| sentence(at).collect()).collect();
        let models = if number.is_multiple_of(3) { vec!["bert", "en"] } else { vec!["bert"] };
        json!({"models": models, "sentences": sentences, "probabilities": true})
    };
    let requests: Vec<Value> = (0..24).map(request).collect();
    let alone: Vec<String> =
        requests.iter().map(|request| server.post_json("/v1/tag", request).body).collect();
    for _ in 0..3 {
        std::thread::scope(|scope| {
            let (server, alone) = (&server, &alone);
            for (request, alone) in requests.iter().zip(alone) {
                scope.spawn(move || assert_eq!(&server.post_json("/v1/tag", request).body, alone));
            }
        });
    }
    let rounds = server.metric("frostline_round_requests_count");
    assert!(rounds < 4.0 * 24.0, "{rounds} rounds: no two requests were computed together");
}
