use turnback_tests::Scratch;

#[test]
fn smoke() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("b");
    scratch.call("c", || scratch.write("a", "2\n"));
    assert!(!scratch.restore("b").is_partial());
    assert_eq!(scratch.read("a"), "1\n");
}
